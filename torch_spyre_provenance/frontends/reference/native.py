"""Which FX nodes the device computes itself; all others run on the host.

Policy as data: the operators that have a device op, or that are lowered to a few of
them, and the views, which are no operation at all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch.fx import Node

from ..contract import DEVICE
from . import library, op_table
from .addressing import (
    VIEWS,
    chain,
    fits,
    fits_symbolically,
    has_known_stick,
    is_laid_out,
    is_reachable,
)
from .symbolic import is_symbolic

library.define()

aten = torch.ops.aten
prims = torch.ops.prims

_POINTWISE: dict[Any, str] = {
    aten.abs.default: "abs",
    aten.add.Scalar: "add",
    aten.add.Tensor: "add",
    aten.clamp_max.default: "minimum",
    aten.clamp_min.default: "maximum",
    aten.clone.default: "identity",
    aten.div.Scalar: "truediv",
    aten.div.Tensor: "truediv",
    aten.eq.Scalar: "eq",
    aten.eq.Tensor: "eq",
    aten.exp.default: "exp",
    aten.floor.default: "floor",
    aten.full.default: "identity",
    aten.ge.Scalar: "ge",
    aten.ge.Tensor: "ge",
    aten.gt.Scalar: "gt",
    aten.gt.Tensor: "gt",
    aten.le.Scalar: "le",
    aten.le.Tensor: "le",
    aten.log.default: "log",
    aten.logical_and.default: "mul",
    aten.lt.Scalar: "lt",
    aten.lt.Tensor: "lt",
    aten.maximum.default: "maximum",
    aten.minimum.default: "minimum",
    aten.mul.Scalar: "mul",
    aten.mul.Tensor: "mul",
    aten.ne.Scalar: "ne",
    aten.ne.Tensor: "ne",
    aten.neg.default: "neg",
    aten.reciprocal.default: "reciprocal",
    aten.relu.default: "relu",
    aten.rsqrt.default: "rsqrt",
    aten.sigmoid.default: "sigmoid",
    aten.sqrt.default: "sqrt",
    aten.square.default: "mul",
    aten.sub.Scalar: "sub",
    aten.sub.Tensor: "sub",
    aten.tanh.default: "tanh",
    aten.where.self: "where",
    prims.convert_element_type.default: "to_dtype",
}
"""Operators that Inductor's own lowering turns into device ops, with the main one."""

spyre = torch.ops.spyre

_WHOLE: dict[Any, bool] = {
    spyre.gelu.default: False,
    spyre.silu.default: False,
    spyre.softplus.default: False,
    spyre.clamp.default: False,
    spyre.exx2.default: True,
    spyre.layernormscale.default: True,
    spyre.layernormnorm.default: True,
}
"""The front end's own operators, and whether the device has them for fp32 too."""

_PRODUCTS: dict[Any, int] = {
    aten.mm.default: 0,
    aten.bmm.default: 0,
    aten.addmm.default: 1,
}
"""Matrix products, and the position of the first factor."""

_LARGEST = (spyre.topkvalue.default, spyre.topkindex.default)
_ACROSS_STICKS = (aten.prod.dim_int, *_LARGEST)
"""Reductions over one dimension, which the sticks must not run along."""

Retargeted = tuple[torch._ops.OpOverload, tuple[Any, ...]]


def _product(node: Node) -> Retargeted:
    return torch.ops.spyre.batchmatmul.default, node.args[:2]


def _concatenation(node: Node) -> Retargeted:
    tensors, *dim = node.args
    return torch.ops.spyre.cat.default, (tensors, dim[0] if dim else 0)


def _reduction(kind: str) -> Callable[[Node], Retargeted]:
    def retarget(node: Node) -> Retargeted:
        x, *rest = node.args
        dims = rest[0] if rest else None
        keepdim = bool(rest[1]) if len(rest) > 1 else False
        one = dims if isinstance(dims, list | tuple) else [dims]
        return (
            torch.ops.spyre.reduce.default,
            (x, [] if dims is None else list(one), keepdim, kind),
        )

    return retarget


_REDUCTIONS: dict[Any, Callable[[Node], Retargeted]] = {
    aten.amax.default: _reduction("max"),
    aten.amin.default: _reduction("min"),
    spyre.amax.default: _reduction("max"),
    aten.mean.default: _reduction("mean"),
    aten.mean.dim: _reduction("mean"),
    aten.prod.dim_int: _reduction("prod"),
    aten.sum.default: _reduction("sum"),
    aten.sum.dim_IntList: _reduction("sum"),
}

RETARGETS: dict[Any, Callable[[Node], Retargeted]] = {
    aten.mm.default: _product,
    aten.bmm.default: _product,
    aten.cat.default: _concatenation,
    **_REDUCTIONS,
}
"""Operators that get a lowering of the front end's own."""

HOST_NAMESAKES: dict[Any, Any] = {
    getattr(aten, name).default: getattr(spyre, name).default
    for name in library.SCATTERS
}
"""Operators that are pointed at a namesake, to be left alone until they are lowered."""

_POWERS = (2, 3, 4)
"""Exponents that are a few products."""

_HALF = (torch.float16, torch.bfloat16)


def is_spyre(node: Node) -> bool:
    """Return whether a node makes a tensor of the device."""
    value = node.meta.get("val")
    return isinstance(value, torch.Tensor) and value.device.type == DEVICE


def is_native(node: Node) -> bool:
    """Return whether the device computes a node: its operator, types and shapes.

    A view is native where its input and output are.
    """
    if node.op != "call_function" or not is_spyre(node):
        return False
    tensors = [node.meta["val"], *(n.meta.get("val") for n in node.all_input_nodes)]
    if not (all(map(fits, tensors)) or _fits_symbolically(node)):
        return False
    if node.target in VIEWS:
        return True
    if node.target in {*_ACROSS_STICKS, *RETARGETS, *_WHOLE}:
        return _has_one_type(node, tensors)
    handler = _POINTWISE.get(node.target)
    if node.target is aten.pow.Tensor_Scalar:
        handler = "mul" if node.args[1] in _POWERS else None
    return handler is not None and _has_types(handler, tensors, node)


def _has_one_type(node: Node, tensors: list[torch.Tensor]) -> bool:
    """Return whether an operator with a lowering of our own is native."""
    if node.target in _LARGEST:
        return _has_other_loops(node) and _same_dtype(tensors[1:])
    if node.target in _ACROSS_STICKS and not _has_other_loops(node):
        return False
    if node.target in RETARGETS:
        return _same_dtype(tensors) and not node.kwargs.get("dtype")
    return _same_dtype(tensors) and (
        _WHOLE[node.target] or tensors[0].dtype is not torch.float32
    )


def _has_other_loops(node: Node) -> bool:
    """Return whether a reduction over one dimension leaves another, and moves on it."""
    arguments: Any = node.args
    x, *rest = arguments
    tensor = x.meta["val"]
    dim = rest[-1] if node.target in _LARGEST else rest[0]
    others = [
        stride
        for d, (n, stride) in enumerate(zip(tensor.shape, tensor.stride(), strict=True))
        if n > 1 and d != dim % tensor.dim()
    ]
    return bool(others) and all(others)


def has_matmul_types(node: Node) -> bool:
    """Return whether a matrix product of this node's tensors is native."""
    tensors = [node.meta["val"], *(n.meta.get("val") for n in node.all_input_nodes)]
    fit = all(map(fits, tensors)) or _fits_symbolically(node)
    return fit and _same_dtype(tensors)


def _fits_symbolically(node: Node) -> bool:
    """Return whether the device can compute a node of tensors with a symbolic size.

    No loop over such a size may reduce, and no stick may run along it. What a reduction
    leaves has one element per stick where it would.
    """
    result = node.meta["val"]
    operands = node.all_input_nodes
    if not (fits(result) or fits_symbolically(result)) or not is_laid_out(result):
        return False
    if node.target in _ACROSS_STICKS or not all(map(is_reachable, operands)):
        return False
    reductions = {spyre.reduce.default, *_REDUCTIONS}
    buffers = (node, *(chain(operand)[-1] for operand in operands))
    return not any(map(is_symbolic, _inner_sizes(node))) and all(
        has_known_stick(n) for n in buffers if n.target not in reductions
    )


def _inner_sizes(node: Node) -> list[Any]:
    """Return the sizes that an operator must know."""
    arguments: Any = node.args
    if node.target is aten.cat.default:
        _, (tensors, dim) = _concatenation(node)
        return [tensor.meta["val"].shape[dim] for tensor in tensors]
    if node.target in _REDUCTIONS:
        _, (x, dims, *_) = _REDUCTIONS[node.target](node)
        size = x.meta["val"].shape
        return [size[d] for d in dims] or list(size)
    if node.target in _WHOLE or node.target in _PRODUCTS:
        position = _PRODUCTS.get(node.target, 0)
        return [arguments[position].meta["val"].shape[-1]]
    return []


def _same_dtype(tensors: list[torch.Tensor]) -> bool:
    dtypes = {tensor.dtype for tensor in tensors}
    return len(dtypes) == 1 and dtypes <= {*_HALF, torch.float32}


def _has_types(handler: str, tensors: list[torch.Tensor], node: Node) -> bool:
    result, *inputs = (tensor.dtype for tensor in tensors)
    if handler == "to_dtype":
        return op_table.cast_op(inputs[0], result) is not None
    if handler == "identity":
        return result in (*_HALF, torch.float32, torch.bool)
    row = op_table.POINTWISE[handler]
    operands = inputs
    if handler == "where":
        operands = list(_dtypes(node.args[1:]))
    elif node.target is aten.logical_and.default:
        return set(inputs) == {torch.bool}
    types = set(operands)
    if len(types) > 1 and types <= {*_HALF, torch.float32}:
        # They are converted to the wider type, each by an op of its own.
        return row.fp32 and result is torch.float32
    if len(types) != 1 or (not row.is_predicate and result not in types):
        return False
    (dtype,) = types
    return dtype in _HALF or (dtype is torch.float32 and row.fp32)


def _dtypes(arguments: Any) -> Iterator[torch.dtype]:
    for argument in arguments:
        if isinstance(argument, Node):
            yield argument.meta["val"].dtype
