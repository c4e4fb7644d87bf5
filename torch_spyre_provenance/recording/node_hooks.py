"""Watching which FX nodes take the place of which, through `GraphModule`'s hooks."""

from __future__ import annotations

from typing import Any

import torch
from attrs import define, evolve, field

from ..model import Replacement
from .fx import StackTable


def _nothing() -> None:
    """Stand for a recorder in a pickle."""


@define
class _Rewrite:
    """One rewrite in progress: nodes made, and nodes whose uses they took over."""

    created: list[str] = field(factory=list)
    replaced: dict[str, Replacement] = field(factory=dict)


@define(eq=False)
class RewriteRecorder:
    """Notes every rewrite of a graph while its hooks are on.

    A pass makes new nodes, gives them the uses of old ones, and erases the old ones: a
    rewrite ends with the first erasure after a replacement. What the old node knew is
    read at the replacement, as it is gone afterwards.

    Attributes:
        gm: The graph module whose hooks are on.
        stacks: Where the old nodes' stack traces go.
    """

    gm: torch.fx.GraphModule
    stacks: StackTable = field(factory=StackTable)
    _rewrite: _Rewrite = field(factory=_Rewrite, init=False)
    _found: dict[tuple[str, str], Replacement] = field(factory=dict, init=False)

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

    def stop(self) -> None:
        """Turn the hooks off."""
        self.gm._unregister_create_node_hook(self._on_create)
        self.gm._unregister_replace_node_hook(self._on_replace)
        self.gm._unregister_erase_node_hook(self._on_erase)
        self._close()

    def replacements(self, names: frozenset[str]) -> tuple[Replacement, ...]:
        """Return the replacements by nodes of these names, which are still there."""
        return tuple(each for each in self._found.values() if each.new in names)

    def _on_create(self, node: torch.fx.Node) -> None:
        if self._rewrite.replaced:
            self._close()
        self._rewrite.created.append(node.name)

    def _on_replace(self, old: torch.fx.Node, new: str, user: torch.fx.Node) -> None:
        if old.name in self._rewrite.replaced:
            return
        trace = old.meta.get("stack_trace")
        self._rewrite.replaced[old.name] = Replacement(
            new=new,
            old=old.name,
            direct=True,
            sources=tuple(sorted({s.name for s in old.meta.get("from_node") or ()})),
            stack=self.stacks.index(trace) if isinstance(trace, str) else None,
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
