"""Source locations, and the one parser of Python stack-trace text."""

from __future__ import annotations

import re

from attrs import evolve, field, frozen
from attrs.validators import ge

_FRAME = re.compile(
    r'^\s*File "(?P<file>.+)", line (?P<line>\d+)(?:, in (?P<function>.*))?$'
)
_INDENT = 4
"""Columns by which a trace indents a quoted line."""

_CARETS = re.compile(r"^\s*[~^]+\s*$")


@frozen(kw_only=True)
class SourceLoc:
    """A position in a source file, with torch-spyre's field names.

    Attributes:
        file: Path as the compiler saw it.
        start_line: 1-based line.
        start_col: 0-based column; 0 where it is not known.
        end_line: 1-based last line, or None.
        end_col: 0-based column after the last character, or None.
    """

    file: str
    start_line: int = field(validator=ge(0))
    start_col: int = field(default=0, validator=ge(0))
    end_line: int | None = None
    end_col: int | None = None

    def to_str(self) -> str:
        """Return ``file:line:column``, the text that handle ids are made from."""
        return f"{self.file}:{self.start_line}:{self.start_col}"


@frozen(kw_only=True)
class Frame:
    """One frame of a recorded stack trace.

    Attributes:
        file: Path as the compiler saw it; ``<ipython-input-…>`` and the like included.
        line: 1-based line.
        function: Name of the code object, or "" where the trace has none.
        text: The source line as the trace quotes it, or None.
        column: 0-based first column of the expression, where the trace marks it.
        end_column: 0-based column after its last character on this line.
    """

    file: str
    line: int = field(validator=ge(0))
    function: str = ""
    text: str | None = None
    column: int | None = None
    end_column: int | None = None

    @property
    def where(self) -> str:
        """Return ``file:line``."""
        return f"{self.file}:{self.line}"


Stack = tuple[Frame, ...]
"""Frames of one trace, outermost first (the innermost is the last)."""


def parse_stack_trace(text: str) -> Stack:
    """Read the frames of a stack trace as `traceback` prints them.

    The rows of carets that Python 3.11 adds below a source line are not source text:
    they mark the columns of the expression, counted in the text as it is quoted. Text
    that is not a stack trace has no frames.

    Args:
        text: One trace, outermost frame first.

    Returns:
        The frames, outermost first.
    """
    frames: list[Frame] = []
    for row in text.splitlines():
        match = _FRAME.match(row)
        if match is not None:
            frames.append(
                Frame(
                    file=match["file"],
                    line=int(match["line"]),
                    function=match["function"] or "",
                )
            )
        elif frames and row.strip():
            frames[-1] = _with_row(frames[-1], row)
    return tuple(frames)


def _with_row(frame: Frame, row: str) -> Frame:
    """Return a frame with what one row below its head says: text, or columns."""
    marked = row.strip()
    if _CARETS.match(row) is None:
        return evolve(frame, text=marked) if frame.text is None else frame
    if frame.text is None or frame.column is not None:
        return frame
    first = len(row) - len(row.lstrip()) - _INDENT
    return evolve(frame, column=first, end_column=first + len(marked))
