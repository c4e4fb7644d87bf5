"""Texts and numbers as the page's data has them: visible, short, and each once."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from attrs import define, field

from ..model import DebugHandle, Op, OpArg
from .escape import visible

_LONGEST = 2000


@define
class Strings:
    """Texts by number, each made visible and kept once."""

    texts: list[str] = field(factory=list)
    _numbers: dict[str, int] = field(factory=dict)

    def number(self, text: str | None) -> int:
        """Return the number of a text; -1 for None and for no text."""
        if not text:
            return -1
        if text not in self._numbers:
            self._numbers[text] = len(self.texts)
            self.texts.append(shown(text))
        return self._numbers[text]


@define
class Handles:
    """Handles by number, each kept once, as rows of numbers of texts.

    A row has the id, the source's file, line and column, the ATen overload, the chain,
    the numbers of the handles that it was fused from, and its history.
    """

    strings: Strings
    rows: list[list[Any]] = field(factory=list)
    _numbers: dict[DebugHandle, int] = field(factory=dict)

    def number(self, handle: DebugHandle | None) -> int:
        """Return the number of a handle; -1 for None."""
        if handle is None:
            return -1
        if handle not in self._numbers:
            row = self._row(handle)
            self._numbers[handle] = len(self.rows)
            self.rows.append(row)
        return self._numbers[handle]

    def _row(self, handle: DebugHandle) -> list[Any]:
        text, source = self.strings.number, handle.source
        return [
            str(handle.id),
            text(source.file) if source else -1,
            source.start_line if source else 0,
            source.start_col if source else 0,
            text(handle.aten_op),
            [text(name) for name in handle.ir_chain],
            [self.number(part) for part in handle.fused_from],
            [
                [text(step.kind), text(step.pass_name), text(step.reason)]
                for step in handle.transform_history
            ],
        ]


def shown(text: str) -> str:
    """Return a text with no hidden characters, for any place of the page."""
    return visible(text, _LONGEST)


def space_text(op: Op) -> str:
    """Return an op's iteration space: each dimension with its extent and cores."""
    dims = (f"{dim.symbol}={dim.extent}/{dim.split}" for dim in op.iteration_space)
    loops = f" in loops of {op.trips}" if op.loops else ""
    return ", ".join(dims) + loops


def tensor_text(arg: OpArg) -> str:
    """Return a tensor argument: its use, format, layout and place."""
    size = ", ".join(arg.device_size)
    places = " ".join(f"{name}:{offset}" for name, offset in arg.allocation)
    coordinates = ", ".join(arg.device_coordinates)
    use = "reads" if arg.is_input else "writes"
    name = f"{arg.buffer} " if arg.buffer else ""
    return f"{use} {name}{arg.device_dtype}[{size}] at [{coordinates}] in {places}"


def differences(numbers: Iterable[int]) -> list[int]:
    """Return each number as its difference from the one before, the first from 0."""
    result, last = [], 0
    for number in numbers:
        result.append(number - last)
        last = number
    return result
