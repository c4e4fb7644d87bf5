"""Texts and numbers as the page's data has them: visible, short, and each once."""

from __future__ import annotations

from collections.abc import Iterable

from attrs import define, field

from ..model import Op, OpArg
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


def shown(text: str) -> str:
    """Return a text with no hidden characters, for any place of the page."""
    return visible(text, _LONGEST)


def space_text(op: Op) -> str:
    """Return an op's iteration space: each dimension with its extent and cores."""
    dims = (f"{dim.symbol}={dim.extent}/{dim.split}" for dim in op.iteration_space)
    loops = f" in loops of {' · '.join(op.loops)}" if op.loops else ""
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
