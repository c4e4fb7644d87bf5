"""Which buffers a loop reads, without working out where in them.

Inductor's own way brings every index into a normal form, which is most of its work.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from unittest.mock import patch

import sympy
from torch._inductor.ir import (
    FlexibleLayout,
    Pointwise,
    Reduction,
    Scatter,
    WelfordReduction,
)
from torch._inductor.ops_handler import DefaultHandler
from torch._inductor.virtualized import V

_LOOPS, _NOT_ALL_IN_THE_BODY = (Pointwise, Reduction), (Scatter, WelfordReduction)
"""Loops whose one body reads all that they read, and their kinds with more to read."""

_SOMEWHERE = sympy.Symbol("somewhere", integer=True, nonnegative=True)


def reads_in_body_alone(data: Any) -> bool:
    """Return whether an operation's loop reads nothing outside of its one body."""
    return isinstance(data, _LOOPS) and not isinstance(data, _NOT_ALL_IN_THE_BODY)


def body_reads(data: Any) -> set[str]:
    """Return the names of the buffers that the body of a loop reads, by running it.

    Args:
        data: A loop of one body, `Pointwise` or `Reduction`.
    """
    handler = _Names()
    with (
        V.set_ops_handler(handler),
        patch.object(FlexibleLayout, "allow_indexing", new=True),
    ):
        data.inner_fn(*data.inner_fn_args())
    return handler.names


class _Names(DefaultHandler):
    """Notes what is read; no value stands for anything."""

    def __init__(self) -> None:
        super().__init__()
        self.names: set[str] = set()

    def _default(self, name: str, args: tuple[Any, ...], kwargs: Any) -> Any:
        return (None, None) if name == "frexp" else None

    def load(self, name: str, index: sympy.Expr) -> None:
        self.names.add(name)

    def load_seed(self, name: str, offset: Any) -> None:
        self.names.add(name)

    def bucketize(  # noqa: PLR0917  Inductor's signature
        self,
        values: Any,
        boundaries: tuple[str, Any, Any, Any],
        boundary_indices: Any,
        indexing_dtype: Any,
        right: bool,
        sorter: tuple[str, Any] | None = None,
        sorter_indices: Any = None,
    ) -> None:
        self.names.update(each[0] for each in (boundaries, sorter) if each is not None)

    def indirect_indexing(self, *args: Any, **options: Any) -> sympy.Symbol:
        return _SOMEWHERE

    def masked(self, mask: Any, body: Callable[[], Any], other: Any) -> None:
        body()
