"""Watching which FX nodes take the place of which, through `GraphModule`'s hooks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

import torch
from attrs import define, field, frozen

from ..model import Replacement
from .fx import StackTable, target_text


def _nothing() -> None:
    """Stand for a recorder in a pickle."""


@frozen(kw_only=True)
class _Old:
    """What a node knew when it lost its place."""

    name: str
    target: str
    sources: tuple[str, ...]
    trace: str | None

    @classmethod
    def of(cls, node: torch.fx.Node) -> _Old:
        """Read a node that is about to go."""
        trace = node.meta.get("stack_trace")
        return cls(
            name=node.name,
            target=target_text(node.target),
            sources=tuple(sorted({s.name for s in node.meta.get("from_node") or ()})),
            trace=trace if isinstance(trace, str) else None,
        )


@define
class _Rewrite:
    """One rewrite in progress.

    Attributes:
        created: Targets of the new nodes, by name.
        replaced: The nodes whose uses were taken over, by name.
        heirs: Who took over the uses of each of them.
        absorbed: The nodes that went with them, as nothing else read them.
        inputs: Names of the nodes that those which went had read.
        is_ending: Whether nodes are being erased, the last step of a rewrite.
    """

    created: dict[str, str] = field(factory=dict)
    replaced: dict[str, _Old] = field(factory=dict)
    heirs: dict[str, str] = field(factory=dict)
    absorbed: dict[str, _Old] = field(factory=dict)
    inputs: set[str] = field(factory=set)
    is_ending: bool = False


@frozen(kw_only=True)
class _Made:
    """What a new node stands for.

    Attributes:
        olds: The nodes that lost their places to it, or to the rewrite that it is of.
        direct: Which of them lost it to this very node, by name.
        absorbed: Those that went with them, as far as no other node stands for them.
    """

    olds: tuple[_Old, ...]
    direct: frozenset[str]
    absorbed: tuple[_Old, ...] = ()


@define(eq=False)
class RewriteRecorder:
    """Notes every rewrite of a graph while its hooks are on.

    A pass makes new nodes, gives them the uses of old ones, and erases the old ones
    with all that only they had read. What an old node knew is read as it goes.

    A rewrite of what an earlier one made stands for what that one stood for. So where
    ``mm`` and ``add`` become ``addmm`` and then ``mm`` and ``add`` again, each of the
    last two stands for the first one of its own operator.

    Attributes:
        gm: The graph module whose hooks are on.
        before: Watched the graph that this one was cut out of, where its nodes had the
            same names; or None.
    """

    gm: torch.fx.GraphModule
    before: RewriteRecorder | None = None
    _is_on: bool = field(default=False, init=False)
    _rewrite: _Rewrite = field(factory=_Rewrite, init=False)
    _made: dict[str, _Made] = field(factory=dict, init=False)

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
        for new, made in self._all_made().items():
            for old in made.olds if new in names else ():
                yield Replacement(
                    new=new,
                    old=old.name,
                    direct=old.name in made.direct,
                    sources=old.sources,
                    stack=None if old.trace is None else stacks.index(old.trace),
                )

    def _all_made(self) -> dict[str, _Made]:
        """Return what every new node stands for, those of the graph before included."""
        self._close()
        before = {} if self.before is None else self.before._all_made()
        return {**before, **self._made}

    def _on_create(self, node: torch.fx.Node) -> None:
        if self._rewrite.replaced:
            self._close()
        self._rewrite.created[node.name] = target_text(node.target)

    def _on_replace(self, old: torch.fx.Node, new: str, user: torch.fx.Node) -> None:
        if self._rewrite.is_ending:
            self._close()
        if old.name not in self._rewrite.replaced:
            self._rewrite.replaced[old.name] = _Old.of(old)
            self._rewrite.heirs[old.name] = new

    def _on_erase(self, node: torch.fx.Node) -> None:
        rewrite = self._rewrite
        if not rewrite.replaced:
            return
        rewrite.is_ending = True
        if node.name in rewrite.inputs and node.name not in rewrite.replaced:
            rewrite.absorbed[node.name] = _Old.of(node)
        elif node.name not in rewrite.replaced:
            return
        rewrite.inputs.update(source.name for source in node.all_input_nodes)

    def _close(self) -> None:
        """End a rewrite, and note what each of its new nodes stands for.

        It is the one old node of the same operator, where there is one on either side;
        else all that were replaced and are not taken in that way.
        """
        rewrite, self._rewrite = self._rewrite, _Rewrite()
        if not rewrite.replaced:
            return
        # A node that was there before stands for itself, whatever uses it takes over.
        news = rewrite.created
        firsts = {name: self._first(old) for name, old in rewrite.replaced.items()}
        olds = _distinct(old for made in firsts.values() for old in made.olds)
        absorbed = _distinct(self._absorbed(rewrite, firsts.values()))
        twins = _twins(news, _distinct((*olds, *absorbed)))
        taken = {twin.name for twin in twins.values()}
        rest = tuple(old for old in absorbed if old.name not in taken)
        left = tuple(old for old in olds if old.name not in taken) or rest or olds
        for new in news:
            if new in twins:
                twin = twins[new]
                made = _Made(olds=(twin,), direct=frozenset((twin.name,)))
            else:
                direct = frozenset(
                    first.name
                    for name, known in firsts.items()
                    for first in known.olds
                    if rewrite.heirs[name] == new
                )
                made = _Made(olds=left, direct=direct, absorbed=rest)
            self._made[new] = made

    def _first(self, old: _Old) -> _Made:
        """Return what an old node stood for itself, through all earlier rewrites."""
        made = self._made.get(old.name)
        if made is None and self.before is not None:
            return self.before._first(old)
        return made or _Made(olds=(old,), direct=frozenset())

    def _absorbed(self, rewrite: _Rewrite, replaced: Iterable[_Made]) -> Iterator[_Old]:
        for made in replaced:
            yield from made.absorbed
        for old in rewrite.absorbed.values():
            made = self._first(old)
            yield from made.olds
            yield from made.absorbed


def _twins(news: dict[str, str], olds: tuple[_Old, ...]) -> dict[str, _Old]:
    """Return the old node of each new one where just these two are of an operator."""
    n_news = Counter(news.values())
    n_olds = Counter(old.target for old in olds)
    by_target = {old.target: old for old in olds}
    return {
        new: by_target[target]
        for new, target in news.items()
        if n_news[target] == 1 and n_olds[target] == 1
    }


def _distinct(olds: Iterable[_Old]) -> tuple[_Old, ...]:
    return tuple({old.name: old for old in olds}.values())
