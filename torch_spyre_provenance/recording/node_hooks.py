"""Watching which FX nodes take the place of which, through `GraphModule`'s hooks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from attrs import define, evolve, field, frozen

from ..model import Replacement
from .fx import StackTable


def _nothing() -> None:
    """Stand for a recorder in a pickle."""


@frozen(kw_only=True)
class _Replaced:
    """What an old node knew when its uses were taken over."""

    new: str
    old: str
    sources: tuple[str, ...]
    trace: str | None
    direct: bool = True


@define
class _Rewrite:
    """One rewrite in progress: nodes made, and nodes whose uses they took over."""

    created: list[str] = field(factory=list)
    replaced: dict[str, _Replaced] = field(factory=dict)


@define(eq=False)
class RewriteRecorder:
    """Notes every rewrite of a graph while its hooks are on.

    A pass makes new nodes, gives them the uses of old ones, and erases the old ones: a
    rewrite ends with the first erasure after a replacement. What the old node knew is
    read at the replacement, as it is gone afterwards.

    Attributes:
        gm: The graph module whose hooks are on.
    """

    gm: torch.fx.GraphModule
    _is_on: bool = field(default=False, init=False)
    _rewrite: _Rewrite = field(factory=_Rewrite, init=False)
    _found: dict[tuple[str, str], _Replaced] = field(factory=dict, init=False)

    def __reduce__(self) -> Any:
        """Leave no trace in a pickle: a graph is pickled for its cache key."""
        return (_nothing, ())

    def __deepcopy__(self, _: object) -> RewriteRecorder:
        """Return itself: hooks are copied along with their graph."""
        return self

    def start(self) -> None:
        """Turn the hooks on."""
        self.gm._register_create_node_hook(self._on_create)
        self.gm._register_replace_node_hook(self._on_replace)
        self.gm._register_erase_node_hook(self._on_erase)
        self._is_on = True

    def stop(self) -> None:
        """Turn the hooks off, if they are on."""
        if not self._is_on:
            return
        self._is_on = False
        self.gm._unregister_create_node_hook(self._on_create)
        self.gm._unregister_replace_node_hook(self._on_replace)
        self.gm._unregister_erase_node_hook(self._on_erase)

    def replacements(
        self, names: frozenset[str], stacks: StackTable
    ) -> Iterator[Replacement]:
        """Yield the replacements by nodes that are still there.

        Args:
            names: The names of those nodes.
            stacks: Where the old nodes' stack traces go.
        """
        self._close()
        for found in self._found.values():
            if found.new in names:
                yield Replacement(
                    new=found.new,
                    old=found.old,
                    direct=found.direct,
                    sources=found.sources,
                    stack=None if found.trace is None else stacks.index(found.trace),
                )

    def _on_create(self, node: torch.fx.Node) -> None:
        if self._rewrite.replaced:
            self._close()
        self._rewrite.created.append(node.name)

    def _on_replace(self, old: torch.fx.Node, new: str, user: torch.fx.Node) -> None:
        if old.name in self._rewrite.replaced:
            return
        trace = old.meta.get("stack_trace")
        self._rewrite.replaced[old.name] = _Replaced(
            new=new,
            old=old.name,
            sources=tuple(sorted({s.name for s in old.meta.get("from_node") or ()})),
            trace=trace if isinstance(trace, str) else None,
        )

    def _on_erase(self, _: torch.fx.Node) -> None:
        if self._rewrite.replaced:
            self._close()

    def _close(self) -> None:
        """End a rewrite: its new nodes all stand for the nodes that it replaced."""
        rewrite, self._rewrite = self._rewrite, _Rewrite()
        for old in rewrite.replaced.values():
            for new in dict.fromkeys((*rewrite.created, old.new)):
                self._found[new, old.old] = evolve(old, new=new, direct=new == old.new)
