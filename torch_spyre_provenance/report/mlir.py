"""The ops of a compile as an MLIR module whose locations say where they come from.

A stack is a chain of call sites, innermost first; a frame is a name around a file, line
and columns; an op of several lines, or whose lines are not measured, is a fusion that
says how they are known. The ops are of no registered dialect: the module is for tools
that read locations.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from attrs import define, field

from ..analysis.attribution import Attribution, Attributor, Location
from ..analysis.sdsc import SdscLink, link_files
from ..model import Evidence, Frame, Op, Stack
from .escape import visible

_UNKNOWN = "unknown"
_MOST = (1 << 32) - 1  # MLIR's lines and columns have 32 bits
_PLAIN = frozenset(range(0x20, 0x7F)) - {ord('"'), ord("\\")}
_LONGEST = 4096


def render_facts(facts: Attributor) -> str:
    """Return the module as MLIR's generic text.

    Parsing it needs ``allow_unregistered_dialects``.

    Args:
        facts: The bundle and its attribution.
    """
    return "\n".join(_Module(facts).lines()) + "\n"


def quoted(text: str) -> str:
    """Return a string literal of MLIR: what is not plain ASCII as hexadecimal bytes."""
    data = visible(text, _LONGEST).encode("utf-8", "backslashreplace")
    shown = (chr(byte) if byte in _PLAIN else f"\\{byte:02X}" for byte in data)
    return f'"{"".join(shown)}"'


@define
class _Module:
    """The text of one module while it is put together."""

    facts: Attributor
    aliases: dict[Stack, str] = field(factory=dict)

    def lines(self) -> Iterator[str]:
        """Yield the stacks that locations name, then the module."""
        bundle = self.facts.bundle
        rows = zip(bundle.ops, self.facts.attributions, link_files(bundle), strict=True)
        body: dict[str, list[str]] = {each.name: [] for each in bundle.kernels or ()}
        for (kernel, op), found, link in rows:
            body[kernel.name].append(self._op(op, found, link))
        for stack, alias in self.aliases.items():
            yield f"{alias} = loc({self._stack(stack)})"
        yield f"module attributes {_attributes(_about(self.facts))} {{"
        for name, ops in body.items():
            yield '  "provenance.kernel"() ({'
            yield from ops
            about = _attributes({"name": name})
            yield f"  }}) {about} : () -> () loc({quoted(name)})"
        yield f"}} loc({quoted(bundle.compile.graph)})"

    def _op(self, op: Op, found: Attribution, link: SdscLink) -> str:
        about = {
            "path": op.spec_path,
            "op": op.op,
            "evidence": found.evidence.value,
            "rule": found.rule.value if found.locations else "",
            "reason": found.reason,
            "module": found.module_path,
            "aten_op": found.aten_op or "",
            "fx_nodes": ", ".join(found.nodes),
            "buffer": op.buffer or "",
            "handle": str(op.handle.id) if op.handle else "",
            "sdsc_file": link.file.name if link.file else "",
        }
        where = f"{quoted(found.op)}({self._known(found)})"
        return f'    "provenance.op"() {_attributes(about)} : () -> () loc({where})'

    def _known(self, found: Attribution) -> str:
        """Return the location of an op's lines, with their evidence."""
        names = [self._alias(place) for place in found.locations]
        if not names:
            return _UNKNOWN
        if len(names) == 1 and found.evidence is Evidence.MEASURED:
            return names[0]
        how = quoted(f"{found.evidence}: {found.rule}")
        return f"fused<{how}>[{', '.join(names)}]"

    def _alias(self, place: Location) -> str:
        # The chain begins at the frame that stands for the stack: those inside it are
        # a library's or the framework's.
        depth = next(
            (n for n, f in enumerate(place.stack) if f is place.frame), len(place.stack)
        )
        stack = place.stack[: depth + 1]
        return self.aliases.setdefault(stack, f"#stack{len(self.aliases)}")

    def _stack(self, stack: Stack) -> str:
        location = ""
        for frame in stack:
            own = self._frame(frame)
            location = f"callsite({own} at {location})" if location else own
        return location or _UNKNOWN

    def _frame(self, frame: Frame) -> str:
        if frame.line > _MOST:
            return _UNKNOWN
        place = f"{quoted(frame.file)}:{frame.line}:{self._columns(frame)}"
        return f"{quoted(frame.function)}({place})" if frame.function else place

    def _columns(self, frame: Frame) -> str:
        """Return 1-based columns; 0 where the line's indentation is not known."""
        line = self.facts.index.source_lines.get((frame.file, frame.line))
        if line is None or frame.column is None or frame.end_column is None:
            return "0"
        indent = len(line) - len(line.lstrip())
        first, last = indent + frame.column + 1, indent + frame.end_column
        return f"{first} to :{last}" if first <= last <= _MOST else "0"


def _about(facts: Attributor) -> Mapping[str, str]:
    info = facts.bundle.compile
    return {
        "provenance.graph": info.graph,
        "provenance.kind": info.kind.value,
        "provenance.front_end": info.front_end or "",
    }


def _attributes(values: Mapping[str, str] | Iterable[tuple[str, str]]) -> str:
    """Return a dictionary of string attributes, without the empty ones."""
    pairs = (f"{name} = {quoted(text)}" for name, text in dict(values).items() if text)
    return f"{{{', '.join(pairs)}}}"
