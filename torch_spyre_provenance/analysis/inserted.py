"""Lines for the ops that the compiler inserted: those of the ops that they serve."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping

from attrs import evolve, frozen

from ..model import Evidence, FxNode, ModuleCall
from .index import BundleIndex
from .origins import Origin, Rule, distinct, some_of

MAX_LOCATIONS = 64
"""Most lines that one op keeps; `more_locations` counts the rest."""

MAX_SERVED = 64
"""Most ops that an inserted op is said to serve; `more_served` counts the rest."""

LineOf = Callable[[int], str | None]
"""Returns the line of a stack, or None for a stack of framework frames alone."""


@frozen(kw_only=True)
class Answer:
    """What is known of one LoopLevelIR operation.

    Attributes:
        origin: Its lines.
        nodes: The FX nodes that it computes, the one that stands for it first.
        inserted: Whether the compiler put it there for its own ends.
        serves: Buffers of the ops that it was inserted for.
        more_locations: Lines that were cut off; at least that many where an op that it
            serves had its own cut off.
        more_served: The same for the ops that it serves.
    """

    origin: Origin
    nodes: tuple[FxNode, ...] = ()
    inserted: bool = False
    serves: tuple[str, ...] = ()
    more_locations: int = 0
    more_served: int = 0


def serve_inserted(
    answers: dict[str, Answer], index: BundleIndex, line_of: LineOf
) -> None:
    """Apply *for-readers*, else *for-sources*, to the inserted ops without a line.

    Args:
        answers: What is known of each operation, by its buffer, in the order of their
            execution; changed in place.
        index: The bundle's look-ups.
        line_of: The lines of the bundle's stacks.
    """
    _serve_readers(answers, index, line_of)
    _serve_sources(answers, index, line_of)
    for buffer, answer in answers.items():
        if _is_open(answer):
            answers[buffer] = _explained(buffer, answer, index)


def _explained(buffer: str, answer: Answer, index: BundleIndex) -> Answer:
    """Say whom an op serves that has no line because those have none either."""
    readers = [name for name in _readers(buffer, index) if name in index.ir_post]
    if not readers:
        return answer
    reason = f"no line is known of what it was inserted for: {some_of(readers)}"
    return evolve(answer, origin=evolve(answer.origin, reason=reason))


def _readers(buffer: str, index: BundleIndex) -> tuple[str, ...]:
    """Return the buffers of all ops that read what an op or its other parts write."""
    return distinct(
        reader
        for part in index.made_together(buffer)
        for reader in index.ir_readers.get(part, ())
        if reader != buffer
    )


def _serve_readers(
    answers: dict[str, Answer], index: BundleIndex, line_of: LineOf
) -> None:
    """Give an inserted op the lines of all ops that read what it computes.

    The compiler put it there so that they can run; the last in a chain of inserted ops
    passes its readers' lines on to those before it. Ops of one and the same node, as
    those that fill and copy into a padded buffer, have the same readers.
    """
    for buffer in reversed(tuple(answers)):
        if _is_open(answers[buffer]):
            known = _known(answers, _readers(buffer, index))
            answers[buffer] = _serving(
                answers[buffer], known, Rule.FOR_READERS, line_of
            )


def _serve_sources(
    answers: dict[str, Answer], index: BundleIndex, line_of: LineOf
) -> None:
    """Give an inserted op that serves no reader the lines of the ops it reads.

    Constants do not count: equal ones are one, whoever uses it.
    """
    for buffer in tuple(answers):
        if _is_open(answers[buffer]):
            sources = [
                name
                for name in index.ir_post[buffer].reads
                if name not in index.constants and name != buffer
            ]
            known = _known(answers, sources)
            answers[buffer] = _serving(
                answers[buffer], known, Rule.FOR_SOURCES, line_of
            )


def _is_open(answer: Answer) -> bool:
    return answer.inserted and not answer.origin.stacks


def _known(answers: Mapping[str, Answer], names: Iterable[str]) -> dict[str, Answer]:
    """Return the answers for those of some ops that have lines."""
    return {
        name: answers[name]
        for name in names
        if name in answers and answers[name].origin.stacks
    }


def _serving(
    answer: Answer, served: Mapping[str, Answer], rule: Rule, line_of: LineOf
) -> Answer:
    """Return the answer for an op that serves others."""
    if not served:
        return answer
    stacks, more_locations = _joined_stacks(served.values(), line_of)
    serves, more_served = _joined_serves(served)
    return evolve(
        answer,
        origin=Origin(
            stacks=stacks,
            modules=_common_modules(each.origin for each in served.values()),
            evidence=Evidence.INFERRED,
            rule=rule,
        ),
        serves=serves,
        more_locations=more_locations,
        more_served=more_served,
    )


def _joined_stacks(
    answers: Collection[Answer], line_of: LineOf
) -> tuple[tuple[int, ...], int]:
    """Return one stack for each line of some ops, and how many lines are cut off.

    They are cut off here and not at the end: an op that serves thousands of others may
    be served itself by many.
    """
    by_line: dict[str | None, int] = {}
    most = 0
    for answer in answers:
        for stack in answer.origin.stacks:
            by_line.setdefault(line_of(stack), stack)
        if answer.more_locations:
            most = max(most, len(answer.origin.stacks) + answer.more_locations)
    if len(by_line) > 1:
        by_line.pop(None, None)
    kept = tuple(by_line.values())[:MAX_LOCATIONS]
    return kept, max(len(by_line), most) - len(kept)


def _joined_serves(served: Mapping[str, Answer]) -> tuple[tuple[str, ...], int]:
    """Return the ops that are served in the end, and how many of them are cut off."""
    names = distinct(
        name for op, answer in served.items() for name in answer.serves or (op,)
    )
    kept = names[:MAX_SERVED]
    most = max(len(each.serves) + each.more_served for each in served.values())
    return kept, max(len(names), most) - len(kept)


def _common_modules(origins: Iterable[Origin]) -> tuple[ModuleCall, ...]:
    """Return the modules that all of these share, outermost first."""
    shared: list[ModuleCall] = []
    for level in zip(*(origin.modules for origin in origins), strict=False):
        if len(set(level)) != 1:
            break
        shared.append(level[0])
    return tuple(shared)
