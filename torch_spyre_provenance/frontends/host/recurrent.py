"""The recurrent cells, which torch calls by fused operators on devices like this one.

The host has no kernels for them. Formulas and gate orders are those of `torch.nn.LSTM`
(input, forget, cell, output) and `torch.nn.GRU` (reset, update, new). All tensors here
are host tensors; *n* is the batch size and *h* the size of the hidden state.
"""

from __future__ import annotations

import torch
from torch import Tensor


def lstm_cell(
    input_gates: Tensor,
    hidden_gates: Tensor,
    cx: Tensor,
    input_bias: Tensor | None = None,
    hidden_bias: Tensor | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """Step an LSTM: ``aten::_thnn_fused_lstm_cell``.

    Args:
        input_gates: Input times its weights, shape ``(n, 4 h)``.
        hidden_gates: Hidden state times its weights, same shape.
        cx: Cell state, shape ``(n, h)``.
        input_bias: Shape ``(4 h,)``.
        hidden_bias: Shape ``(4 h,)``.

    Returns:
        The new hidden state, the new cell state, and the four activated gates side by
        side, which `lstm_cell_backward` wants.
    """
    gates = _biased(input_gates, input_bias) + _biased(hidden_gates, hidden_bias)
    i, f, g, o = gates.chunk(4, 1)
    i, f, g, o = i.sigmoid(), f.sigmoid(), g.tanh(), o.sigmoid()
    cy = f * cx + i * g
    return o * cy.tanh(), cy, torch.cat((i, f, g, o), 1)


def lstm_cell_backward(  # noqa: PLR0917 - the operator's signature
    grad_hy: Tensor | None,
    grad_cy: Tensor | None,
    cx: Tensor,
    cy: Tensor,
    workspace: Tensor,
    has_bias: bool,
) -> tuple[Tensor, Tensor, Tensor | None]:
    """Differentiate `lstm_cell`: ``aten::_thnn_fused_lstm_cell_backward_impl``.

    Returns:
        Gradients of the gates, of `cx`, and of a bias or None.
    """
    i, f, g, o = workspace.chunk(4, 1)
    squashed = cy.tanh()
    grad_h = torch.zeros_like(cy) if grad_hy is None else grad_hy
    grad_c = grad_h * o * (1 - squashed**2)
    if grad_cy is not None:
        grad_c = grad_c + grad_cy
    parts = (
        grad_c * g * i * (1 - i),
        grad_c * cx * f * (1 - f),
        grad_c * i * (1 - g**2),
        grad_h * squashed * o * (1 - o),
    )
    grad_gates = torch.cat(parts, 1)
    return grad_gates, grad_c * f, grad_gates.sum(0) if has_bias else None


def gru_cell(
    input_gates: Tensor,
    hidden_gates: Tensor,
    hx: Tensor,
    input_bias: Tensor | None = None,
    hidden_bias: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """Step a GRU: ``aten::_thnn_fused_gru_cell``.

    Args:
        input_gates: Input times its weights, shape ``(n, 3 h)``.
        hidden_gates: Hidden state times its weights, same shape.
        hx: Hidden state, shape ``(n, h)``.
        input_bias: Shape ``(3 h,)``.
        hidden_bias: Shape ``(3 h,)``.

    Returns:
        The new hidden state, and what `gru_cell_backward` wants, shape ``(n, 5 h)``.
    """
    from_input = _biased(input_gates, input_bias).chunk(3, 1)
    from_hidden = _biased(hidden_gates, hidden_bias).chunk(3, 1)
    r, z = (
        (a + b).sigmoid() for a, b in zip(from_input, from_hidden[:2], strict=False)
    )
    n = (from_input[2] + r * from_hidden[2]).tanh()
    return n + z * (hx - n), torch.cat((r, z, n, hx, from_hidden[2]), 1)


def gru_cell_backward(
    grad_hy: Tensor,
    workspace: Tensor,
    has_bias: bool,
) -> tuple[Tensor | None, ...]:
    """Differentiate `gru_cell`: ``aten::_thnn_fused_gru_cell_backward``.

    Returns:
        Gradients of the input's gates, of the hidden state's gates, of `hx`, and of the
        two biases or None.
    """
    r, z, n, hx, from_hidden = workspace.chunk(5, 1)
    grad_z = grad_hy * (hx - n) * z * (1 - z)
    grad_n = grad_hy * (1 - z) * (1 - n**2)
    grad_r = grad_n * from_hidden * r * (1 - r)
    grad_input = torch.cat((grad_r, grad_z, grad_n), 1)
    grad_hidden = torch.cat((grad_r, grad_z, grad_n * r), 1)
    biases = (grad_input.sum(0), grad_hidden.sum(0)) if has_bias else (None, None)
    return grad_input, grad_hidden, grad_hy * z, *biases


def _biased(gates: Tensor, bias: Tensor | None) -> Tensor:
    return gates if bias is None else gates + bias
