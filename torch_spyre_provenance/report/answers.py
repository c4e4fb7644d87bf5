"""The answer to a question, as lines of text and as plain values for JSON."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..analysis.attribution import Attributor, Location
from ..analysis.questions import Answer, KnownOp, Subject
from ..model import Evidence, OpArg
from .escape import ShortPaths, visible
from .kernel import op_record

_LONGEST = 4096  # characters of a line, which a long path may fill
_IN_FULL = frozenset({Subject.OP, Subject.HANDLE, Subject.SDSC})
_MOST_IN_FULL = 8


def answer_text(facts: Attributor, found: Answer) -> str:
    """Return an answer as lines of text.

    A few ops that were asked for by name are told in full; many ops have a line each.

    Args:
        facts: The bundle and its attribution.
        found: The answer.
    """
    in_full = found.subject in _IN_FULL and len(found.ops) <= _MOST_IN_FULL
    lines = _Text(facts).full(found) if in_full else _Text(facts).rows(found)
    return "\n".join(visible(line, _LONGEST) for line in lines)


def answer_facts(facts: Attributor, found: Answer) -> dict[str, Any]:
    """Return an answer as plain values for JSON."""
    directories = {files.kernel: files.directory for files in facts.bundle.run.files}
    ops = [
        {
            "kernel": op.kernel.name,
            "directory": directories.get(op.kernel.name),
            **op_record(facts, op.op, op.found, op.link),
        }
        for op in found.ops
    ]
    return {
        "subject": found.subject.value,
        "name": found.name,
        "kernels": list(dict.fromkeys(op.kernel.name for op in found.ops)),
        "ops": ops,
        "nodes": list(found.nodes),
        "host_ops": [{"op": op.name, "kernel": op.kernel} for op in found.host_ops],
    }


class _Text:
    """The lines of one answer."""

    def __init__(self, facts: Attributor) -> None:
        self.facts = facts
        self.short = ShortPaths(facts.bundle)
        self.directories = {f.kernel: f.directory for f in facts.bundle.run.files}

    def rows(self, found: Answer) -> Iterator[str]:
        """Yield the kernels, and one line for each op."""
        yield f"{_TITLES[found.subject]} {found.name}: {_count(found)}"
        kernel = None
        for op in found.ops:
            if op.kernel.name != kernel:
                kernel = op.kernel.name
                yield ""
                yield f"kernel  {kernel}"
                if kernel in self.directories:
                    yield f"        {self.directories[kernel]}"
            yield self._row(op)
        yield from self._elsewhere(found)

    def full(self, found: Answer) -> Iterator[str]:
        """Yield all that is known of each op."""
        yield f"{_TITLES[found.subject]} {found.name}: {_count(found)}"
        for op in found.ops:
            yield ""
            yield from self._paragraph(op)

    def _row(self, op: KnownOp) -> str:
        file = op.link.file.name if op.link.file else ""
        return (
            f"  {op.op.spec_path:<5} {op.found.op:<15} {op.found.evidence:<9} "
            f"{file:<15} {self._place(op)}"
        ).rstrip()

    def _place(self, op: KnownOp) -> str:
        places = op.found.locations
        where = ", ".join(self._where(place) for place in places)
        text = self.facts.text(places[0].frame) if len(places) == 1 else None
        return f"{where}  {text or ''}".rstrip() or op.found.reason

    def _where(self, place: Location) -> str:
        return self.short.where(place.frame.file, place.frame.line)

    def _paragraph(self, op: KnownOp) -> Iterator[str]:
        found = op.found
        yield f"op        {op.kernel.name}:{op.op.spec_path}  {op.op.op}"
        for place in found.locations:
            yield from self._stack(place)
        yield f"evidence  {_evidence(op)}"
        module = found.modules[-1] if found.modules else None
        yield f"module    {f'{module.path} ({module.type})' if module else '-'}"
        yield f"aten      {found.aten_op or '-'}"
        yield f"fx        {', '.join(found.nodes) or '-'}"
        yield f"buffer    {found.buffer or '-'}  {found.ir_op or ''}".rstrip()
        dims = (f"{d.symbol}={d.extent}/{d.split}" for d in op.op.iteration_space)
        loops = f" in loops of {op.op.trips}" if op.op.loops else ""
        yield f"space     {', '.join(dims) or '-'}  (extent/cores){loops}"
        for arg in op.op.args:
            yield f"{'reads' if arg.is_input else 'writes':<10}{_tensor(arg)}"
        yield f"handle    {op.op.handle.id if op.op.handle else '-'}"
        yield f"sdsc      {self._file(op)}"

    def _stack(self, place: Location) -> Iterator[str]:
        text = self.facts.text(place.frame) or ""
        yield f"line      {place.frame.file}:{place.frame.line}  {text}".rstrip()
        for frame in reversed(place.stack):
            if frame is not place.frame:
                name = f" in {frame.function}" if frame.function else ""
                yield f"            {frame.file}:{frame.line}{name}"

    def _file(self, op: KnownOp) -> str:
        if op.link.file is None:
            return "-"
        directory = self.directories[op.kernel.name]
        return f"{directory}/{op.link.file.name}  (handle: {op.link.state})"

    def _elsewhere(self, found: Answer) -> Iterator[str]:
        """Yield what a line has besides device ops."""
        if found.host_ops:
            yield ""
            names = (f"{op.name} ({op.kernel})" for op in found.host_ops)
            yield f"outside the device kernels: {', '.join(names)}"
        if found.nodes and not found.ops:
            yield ""
            yield f"no device op; FX nodes: {', '.join(found.nodes)}"


_TITLES = {
    Subject.KERNEL: "kernel",
    Subject.EVENT: "event",
    Subject.OP: "op",
    Subject.HANDLE: "handle",
    Subject.LINE: "line",
    Subject.CALLER: "called from line",
    Subject.MODULE: "module",
    Subject.FILE: "file",
    Subject.SDSC: "files",
}


def _count(found: Answer) -> str:
    n_ops, n_kernels = len(found.ops), len({op.kernel.name for op in found.ops})
    ops = "1 op" if n_ops == 1 else f"{n_ops} ops"
    return f"{ops} in {n_kernels} kernel{'s' if n_kernels != 1 else ''}"


def _evidence(op: KnownOp) -> str:
    found = op.found
    if found.evidence is Evidence.MISSING:
        return f"{found.evidence}: {found.reason}"
    more = f" and {found.more_served} more" if found.more_served else ""
    served = f", for {', '.join(found.serves)}{more}" if found.serves else ""
    made_by = f", by {found.pass_name}" if found.pass_name else ""
    return f"{found.evidence} ({found.rule}{served}{made_by})"


def _tensor(arg: OpArg) -> str:
    size = ",".join(arg.device_size)
    places = " ".join(f"{name}:{offset}" for name, offset in arg.allocation)
    return f"{arg.buffer or '?'}  {arg.device_dtype}[{size}]  {places}".rstrip()
