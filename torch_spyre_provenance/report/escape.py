"""Making any text inert and visible in Markdown, in tables and in Mermaid.

Names and source lines come from the audited program, or from a stranger's bundle.
"""

from __future__ import annotations

import re
import unicodedata

from ..model import Bundle

EMPTY = "—"
"""What a table shows for no value."""

_LONGEST = 200
_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp", "Zs"})
_RUN = re.compile(r"`+")
_MERMAID = re.compile(r"[^\w .,:/·=+*@(){}\[\]-]", re.ASCII)


def visible(text: str, longest: int = _LONGEST) -> str:
    """Return text in which every control and direction mark shows as an escape.

    Args:
        text: Any text, lone surrogates included.
        longest: Characters to keep; what is cut off shows as ``…``.
    """
    if len(text) > longest:
        text = text[: longest - 1] + "…"
    if text.isascii() and text.isprintable():
        return text
    return "".join(_shown(char) for char in text)


def code(text: str | None, longest: int = _LONGEST) -> str:
    """Return a Markdown code span that shows exactly this text on one line."""
    if not text:
        return EMPTY
    shown = visible(text, longest)
    fence = "`" * (max((len(run) for run in _RUN.findall(shown)), default=0) + 1)
    if shown[0] in "` " or shown[-1] in "` ":
        return f"{fence} {shown} {fence}"
    return f"{fence}{shown}{fence}"


def row(cells: list[str]) -> str:
    """Return one row of a Markdown table."""
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def mermaid_label(text: str, longest: int = 48) -> str:
    """Return text for the inside of a quoted Mermaid label."""
    shown = visible(text, longest)
    return _MERMAID.sub(lambda match: f"#{ord(match[0])};", shown)


def _shown(char: str) -> str:
    if char == " " or unicodedata.category(char) not in _HIDDEN:
        return char
    number = ord(char)
    if char == "\n":
        return "\\n"
    return f"\\u{number:04x}" if number < 0x10000 else f"\\U{number:08x}"


class ShortPaths:
    """File names as short as the files of one bundle allow.

    Every file is called by the last parts of its path that no other file shares.
    """

    def __init__(self, bundle: Bundle) -> None:
        files = {frame.file for stack in bundle.stacks for frame in stack}
        self._short: dict[str, str] = {}
        n_parts = 1
        while files:
            names: dict[str, list[str]] = {}
            for file in files:
                names.setdefault(_tail(file, n_parts), []).append(file)
            alone = {group[0]: name for name, group in names.items() if len(group) == 1}
            whole = {file: file for file in files if file.count("/") < n_parts}
            self._short.update(whole | alone)
            files -= self._short.keys()
            n_parts += 1

    def where(self, file: str, line: int) -> str:
        """Return ``file:line`` with the short name."""
        return f"{self._short.get(file, file)}:{line}"

    def of(self, file: str) -> str:
        """Return the short name of a file."""
        return self._short.get(file, file)


def _tail(file: str, n_parts: int) -> str:
    return "/".join(file.rsplit("/", n_parts)[-n_parts:])
