"""What the analyses know about operators, as tables."""

from __future__ import annotations

import re

_BUILT_IN = re.compile(
    r"<(?:built-in |bound |wrapped |class )*(?:function|method)? ?'?([\w.]+)"
)

_NAMESPACES = frozenset(
    {"aten", "higher_order", "inductor", "prims", "quantized", "spyre"}
)

VIEWS = frozenset(
    {
        "_reshape_alias",
        "_unsafe_view",
        "adjoint",
        "alias",
        "as_strided",
        "broadcast_in_dim",
        "broadcast_to",
        "chunk",
        "detach",
        "diagonal",
        "dsplit",
        "expand",
        "expand_as",
        "flatten",
        "getattr",
        "getitem",
        "hsplit",
        "moveaxis",
        "movedim",
        "narrow",
        "numpy_T",
        "permute",
        "ravel",
        "reshape",
        "select",
        "slice",
        "split",
        "split_with_sizes",
        "squeeze",
        "swapaxes",
        "swapdims",
        "t",
        "tensor_split",
        "transpose",
        "unbind",
        "unflatten",
        "unfold",
        "unsafe_split",
        "unsqueeze",
        "view",
        "view_as",
        "vsplit",
    }
)
"""Operators that only look at memory in another way: no device op computes them."""

CONTRACTIONS = frozenset(
    {
        "_scaled_mm",
        "addbmm",
        "addmm",
        "addmv",
        "baddbmm",
        "batched_matmul",
        "batchmatmul",
        "bilinear",
        "bmm",
        "convolution",
        "dot",
        "einsum",
        "linear",
        "matmul",
        "mm",
        "mv",
    }
)
"""Operators whose work is one matrix multiplication, whatever else they add to it."""

MOVERS = VIEWS | {
    *("_to_copy", "arange", "clone", "constant", "constant_pad_nd", "copy", "copy_"),
    *("convert_element_type", "copy_f", "device_put", "empty", "empty_strided", "fill"),
    *("full", "full_like", "identity", "iota", "new_empty", "new_full", "new_zeros"),
    *("ones", "ones_like", "overwrite", "overwrite_f", "restickify", "scalar_tensor"),
    *("to_dtype_cpu", "zeros", "zeros_like"),
}
"""Operators that provide or move data: what a compiler may insert for its own ends.

An operator that is not here computes, and was asked for by some line of the model.
"""

DEVICE_MOVERS = frozenset(
    {"ReStickifyOpHBM", "dl16tofp32", "fp32todl16", "fp8todl16", "identity"}
)
"""The same as device ops."""

WITH_ADDEND = frozenset(
    {"addbmm", "addmm", "addmv", "baddbmm", "bilinear", "convolution", "linear"}
)
"""Those of the `CONTRACTIONS` that also add a tensor to the product."""

ADDITIONS = frozenset({"add", "add_", "sub"})
"""Operators by which a compiler adds the addend after the product."""

SUMS = ADDITIONS | {"__add__", "__iadd__", "iadd", "isub", "rsub", "sub_"}
"""Calls of a model that add and do not multiply."""

COMPOSITES = frozenset(
    {
        "bilinear",
        "chain_matmul",
        "einsum",
        "gru",
        "gru_cell",
        "lstm",
        "lstm_cell",
        "multi_dot",
        "multi_head_attention_forward",
        "rnn_relu",
        "rnn_relu_cell",
        "rnn_tanh",
        "rnn_tanh_cell",
        "scaled_dot_product_attention",
        "tensordot",
    }
)
"""Calls that may hold several products, with or without an addend."""

HIGHER_ORDER = "higher_order."
"""What the targets of calls begin with that hold a graph of their own."""

_PRODUCTS = frozenset({"__matmul__", "linear", "matmul"})

MADE_FROM = {
    "addmm": frozenset({"linear", "addmm", "addmm_"}),
    "baddbmm": frozenset({"baddbmm", "baddbmm_"}),
    "linear": frozenset({"linear"}),
    "mm": _PRODUCTS | {"mm", "addmm"},
    **dict.fromkeys(
        ("bmm", "batched_matmul"), _PRODUCTS | {"mm", "bmm", "addmm", "baddbmm"}
    ),
}
"""Which calls of a model an operator can have been made from, `COMPOSITES` apart."""

JOINED = frozenset({"addmm", "baddbmm"})
"""Operators that Inductor also makes of a product and a sum of two calls."""

PASS_THROUGH = VIEWS | {
    *("contiguous", "double", "dropout", "expand_copy", "float", "half", "identity"),
    *("positive", "to", "type", "type_as"),
}
"""Calls that may hand on what they read, so that the result is in its memory."""

PLAIN = frozenset(
    {
        *("abs", "add", "ceil", "cos", "div", "eq", "erf", "exp", "floor", "ge", "gt"),
        *("le", "log", "lt", "maximum", "minimum", "mul", "ne", "neg", "reciprocal"),
        *("relu", "rsqrt", "sigmoid", "sin", "sqrt", "sub", "tanh"),
    }
)
"""Calls that become the ATen operator of that name, and nothing else."""

MULTIPLYING = MADE_FROM["addmm"] | MADE_FROM["batched_matmul"]
"""Calls that hold one product."""

PARTS_OF_PRODUCTS = CONTRACTIONS | ADDITIONS | {"mul", "sum"}
"""Operators that such a call becomes, besides those that move data."""

_OTHER_NAMES = {"truediv": "div", "divide": "div", "square": "pow"}

COMPUTING = frozenset(
    {
        *PLAIN,
        *COMPOSITES,
        *MULTIPLYING,
        *("amax", "amin", "batch_norm", "cat", "clamp", "conv1d", "conv2d", "conv3d"),
        *("cumsum", "embedding", "gelu", "group_norm", "layer_norm", "log_softmax"),
        *("mean", "pow", "rms_norm", "silu", "softmax", "softplus", "stack", "sum"),
        "where",
    }
)
"""Calls that leave a node behind. Of any other one a value may seem to skip it."""

_CHANGES = frozenset({"setitem", "__setitem__"})
_AUGMENTED = frozenset(
    f"{dunder}i{name}{dunder}"
    for name in (
        *("add", "and", "floordiv", "lshift", "matmul", "mod", "mul", "or", "pow"),
        *("rshift", "sub", "truediv", "xor"),
    )
    for dunder in ("", "__")
)
_MAY_CHANGE = frozenset(
    {
        *("alpha_dropout", "celu", "dropout", "dropout1d", "dropout2d", "dropout3d"),
        *("elu", "feature_alpha_dropout", "hardsigmoid", "hardswish", "hardtanh"),
        *("leaky_relu", "mish", "relu", "relu6", "rrelu", "selu", "silu", "threshold"),
    }
)
"""Functions with an argument ``inplace``, which a recording does not show."""

INSERTED_BY = {
    "restickify": "insert_restickify",
    "constant": "split_multi_ops",
    "constant_pad_nd": "insert_bmm_padding",
    "empty": "insert_bmm_padding",
}
"""The pass that makes nodes of an operator, where the node itself does not tell."""


def packet(target: str | None) -> str:
    """Return the bare name of an operator, ``mm`` for ``aten.mm.default``.

    Args:
        target: Text of an ATen overload, of a Python function (by qualified name or as
            `repr` writes it), or of a method.
    """
    if not target:
        return ""
    if target.startswith("<"):
        match = _BUILT_IN.match(target)
        return match[1].rpartition(".")[2] if match else ""
    namespace, _, rest = target.partition(".")
    if namespace in _NAMESPACES:
        return rest.partition(".")[0]
    return target.rpartition(".")[2]


def plain_name(target: str | None) -> str:
    """Return the name of the operator that a call of the model writes in its own way.

    Examples:
        ``mul`` for ``operator.mul``, ``Tensor.mul_``, ``operator.imul``, ``__rmul__``.
    """
    name = packet(target)
    if name in _AUGMENTED or name.endswith("__"):
        name = name.strip("_").removeprefix("i")
        name = name.removeprefix("r") if name not in PLAIN else name
    return _OTHER_NAMES.get(name, name.rstrip("_"))


def changes_in_place(target: str | None) -> bool:
    """Return whether a call of the model changes what it reads first, or may do so."""
    name = packet(target)
    if name in _CHANGES or name in _AUGMENTED or name in _MAY_CHANGE:
        return True
    return name.endswith("_") and not name.endswith("__")


def is_view(target: str | None) -> bool:
    """Return whether a node's target only looks at memory in another way."""
    return packet(target) in VIEWS
