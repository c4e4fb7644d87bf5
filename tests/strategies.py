"""Hypothesis strategies for every value of the model."""

from __future__ import annotations

from enum import StrEnum
from types import NoneType
from typing import Any, get_args, get_origin, get_type_hints

from attrs import evolve, fields, has
from hypothesis import strategies as st

from torch_spyre_provenance.model import (
    SCHEMA_VERSION,
    Bundle,
    DebugHandle,
    FxGraph,
    FxNode,
    IrGraph,
)

NAMES = st.sampled_from(("x", "x_1", "mm", "buf0", "buf1", "op0", "permute", ""))
TEXTS = NAMES | st.text(max_size=12)
"""Text with every character that a string can hold, lone surrogates included."""


def values_of(  # noqa: PLR0911  one way out for each kind of type
    kind: Any, texts: st.SearchStrategy[str] = TEXTS
) -> Any:
    """Return a strategy for the values of one type of the model.

    Args:
        kind: A class of the model, or a type of one of their attributes.
        texts: The strategy for strings.
    """
    if kind is str:
        return texts
    if kind is bool:
        return st.booleans()
    if kind is int:
        return st.integers(0, 5) | st.integers(0, (1 << 63) - 1)
    if isinstance(kind, type) and issubclass(kind, StrEnum):
        return st.sampled_from(kind)
    if has(kind):
        return _objects(kind, texts)
    args = get_args(kind)
    if get_origin(kind) is tuple:
        if args[-1] is ...:
            return st.lists(values_of(args[0], texts), max_size=2).map(tuple)
        return st.tuples(*(values_of(arg, texts) for arg in args))
    inner = next(arg for arg in args if arg is not NoneType)
    return st.none() | values_of(inner, texts)


def bundles(texts: st.SearchStrategy[str] = TEXTS) -> st.SearchStrategy[Bundle]:
    """Return a strategy for whole bundles, whose stack indices lead somewhere."""
    return _objects(Bundle, texts).map(_with_stacks)


def _objects(kind: Any, texts: st.SearchStrategy[str]) -> Any:
    types = get_type_hints(kind)
    if kind is DebugHandle:
        # One level of constituents, as torch-spyre writes them.
        types["fused_from"] = tuple[()]
    parts = {
        each.name: st.just(())
        if types[each.name] == tuple[()]
        else st.just(SCHEMA_VERSION)
        if each.name == "schema_version"
        else values_of(types[each.name], texts)
        for each in fields(kind)
    }
    plain = st.builds(kind, **parts)
    if kind is not DebugHandle:
        return plain
    return st.builds(_fused, plain, st.lists(plain, max_size=2))


def _fused(handle: DebugHandle, parts: list[DebugHandle]) -> DebugHandle:
    return evolve(handle, fused_from=tuple(parts))


def _with_stacks(bundle: Bundle) -> Bundle:
    n_stacks = len(bundle.stacks)

    def node(value: FxNode) -> FxNode:
        return evolve(value, stack=_in_range(value.stack, n_stacks))

    def graph(value: FxGraph | IrGraph | None) -> Any:
        return value and evolve(value, nodes=tuple(map(node, value.nodes)))

    return evolve(
        bundle,
        fx_pre_grad=graph(bundle.fx_pre_grad),
        fx_post_grad=graph(bundle.fx_post_grad),
        loop_ir_pre=graph(bundle.loop_ir_pre),
        loop_ir_post=graph(bundle.loop_ir_post),
        replacements=tuple(
            evolve(each, stack=_in_range(each.stack, n_stacks))
            for each in bundle.replacements
        ),
    )


def _in_range(index: int | None, size: int) -> int | None:
    return index % size if index is not None and size else None
