"""A snapshot of the source lines that a compile came from."""

from __future__ import annotations

from attrs import frozen


@frozen(kw_only=True)
class SourceLine:
    """One line of a source file.

    Attributes:
        number: 1-based line.
        text: The line without its end.
    """

    number: int
    text: str


@frozen(kw_only=True)
class SourceFile:
    """The lines of a file that stack traces name, with their neighbours.

    Attributes:
        path: Path as the compiler saw it.
        sha256: Digest of the whole file's text, in hexadecimal: whether the file is
            still the one that was compiled.
        lines: The lines, by number; neighbours are a few lines before and after.
    """

    path: str
    sha256: str
    lines: tuple[SourceLine, ...]
