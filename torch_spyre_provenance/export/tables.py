"""The rows that a bundle becomes; what they are written with is no matter here.

A row's class is its table's schema. Every row names its compile; job and rank are not
in the rows, since tables are partitioned by them.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator

from attrs import frozen

from ..analysis.attribution import Attribution, Attributor
from ..analysis.coverage import measure_coverage
from ..analysis.losses import find_losses
from ..analysis.sdsc import SdscLink, link_files
from ..model import Bundle, Kernel, Op


@frozen(kw_only=True)
class CompileRow:
    """One compile: one bundle.

    Attributes:
        compile: Path of the bundle below the directory that was exported.
        graph: The graph's name.
        kind: Inference, forward or backward.
        compile_id: Dynamo's compile id, or None.
        front_end: The Spyre front end, or None.
        cache: Whether the code came from a cache.
        time: When, UTC; None where the bundle has no time that can be read.
        host: The process's host.
        pid: The process.
        world_size: Ranks of the job, or None.
        torch: Version of torch, or None.
        torch_spyre: Version of torch-spyre, or None.
        recorder: Version of this package, or None.
        error: What broke the compile off, or None.
        redaction: What was redacted.
        kernels: Number of kernels.
        ops: Number of device ops.
        measured: Those whose line was measured.
        inferred: Those whose line was inferred.
        missing: Those without a line.
    """

    compile: str
    graph: str
    kind: str
    compile_id: str | None
    front_end: str | None
    cache: str
    time: dt.datetime | None
    host: str
    pid: int
    world_size: int | None
    torch: str | None
    torch_spyre: str | None
    recorder: str | None
    error: str | None
    redaction: str
    kernels: int
    ops: int
    measured: int
    inferred: int
    missing: int


@frozen(kw_only=True)
class KernelRow:
    """One kernel.

    Attributes:
        compile: Its compile.
        kernel: Its name, unique in the compile.
        ops: Number of its ops.
        directory: Its directory, or None.
        unimplemented: Name of the op that the device lacks, or None.
    """

    compile: str
    kernel: str
    ops: int
    directory: str | None
    unimplemented: str | None


@frozen(kw_only=True)
class OpRow:
    """One device op.

    Attributes:
        compile: Its compile.
        kernel: Its kernel.
        spec_path: Its position in the kernel's tree of specs.
        op: The device's name for it.
        buffer: The buffer that it computes, or None.
        ir_op: The LoopLevelIR operation behind it, or None.
        aten_op: The ATen overload that it was lowered from, or None.
        module: Path of the innermost module, "" for the root or none.
        module_type: That module's class, or None.
        evidence: How its lines are known.
        rule: The rule that found them.
        reason: Why there are none, or what is open about them.
        pass_name: The pass that inserted or rewrote it, or None.
        lines: Number of its lines.
        file: File of its first line, or None.
        line: That line, or None.
        handle_id: Id of the front end's own handle, as text, or None.
        sdsc_file: Name of the SDSC file that it runs, or None.
        sdsc_handle: Whose handle that file carries.
    """

    compile: str
    kernel: str
    spec_path: str
    op: str
    buffer: str | None
    ir_op: str | None
    aten_op: str | None
    module: str
    module_type: str | None
    evidence: str
    rule: str
    reason: str
    pass_name: str | None
    lines: int
    file: str | None
    line: int | None
    handle_id: str | None
    sdsc_file: str | None
    sdsc_handle: str


@frozen(kw_only=True)
class LocationRow:
    """One line of one device op.

    Attributes:
        compile: The compile.
        kernel: The kernel.
        spec_path: The op's position in the kernel.
        position: 0 for its first line, 1 for the next.
        file: The file.
        line: The 1-based line.
        function: The function around it.
        text: The line's text, or None.
    """

    compile: str
    kernel: str
    spec_path: str
    position: int
    file: str
    line: int
    function: str
    text: str | None


@frozen(kw_only=True)
class LossRow:
    """Provenance that one pass took from one operation.

    Attributes:
        compile: The compile.
        pass_name: The pass.
        ir_op: The operation.
        buffer: Its buffer, or None.
        what: The field that lost something.
        lost: Number of FX nodes that it no longer names.
        left: Number of those that it still names.
    """

    compile: str
    pass_name: str
    ir_op: str
    buffer: str | None
    what: str
    lost: int
    left: int


@frozen(kw_only=True)
class TimeRow:
    """The share of one device op in the time of a profiler's trace.

    Attributes:
        compile: The compile.
        kernel: The kernel.
        spec_path: The op's position in the kernel.
        module: Path of the innermost module, "" for the root or none.
        events: Events of the kernel.
        host_ns: Its share of their time on the host, in nanoseconds.
        device_ns: Its share of their time on the device, in nanoseconds.
    """

    compile: str
    kernel: str
    spec_path: str
    module: str
    events: int
    host_ns: int
    device_ns: int


Row = CompileRow | KernelRow | OpRow | LocationRow | LossRow | TimeRow
"""A row of any table."""

TABLES: dict[str, type[Row]] = {
    "compiles": CompileRow,
    "kernels": KernelRow,
    "ops": OpRow,
    "locations": LocationRow,
    "losses": LossRow,
    "times": TimeRow,
}
"""The row's class of each table."""


def rows_of(compile_: str, bundle: Bundle) -> dict[str, list[Row]]:
    """Return the rows that a bundle becomes, by table; there are no times in it.

    Args:
        compile_: What to call the compile.
        bundle: The bundle.
    """
    facts = Attributor(bundle)
    triples = list(zip(bundle.ops, facts.attributions, link_files(bundle), strict=True))
    return {
        "compiles": [_compile_row(compile_, facts)],
        "kernels": list(_kernel_rows(compile_, bundle)),
        "ops": [
            _op_row(compile_, kernel, op, found, link)
            for (kernel, op), found, link in triples
        ],
        "locations": [
            row for _, found, _ in triples for row in _places(compile_, facts, found)
        ],
        "losses": [
            LossRow(
                compile=compile_,
                pass_name=each.pass_name,
                ir_op=each.loss.op,
                buffer=each.loss.buffer,
                what=each.loss.what,
                lost=len(each.lost),
                left=len(each.loss.after),
            )
            for each in find_losses(bundle)
        ],
    }


def _compile_row(compile_: str, facts: Attributor) -> CompileRow:
    info, run = facts.bundle.compile, facts.bundle.run
    found, versions = measure_coverage(facts.attributions), dict(run.versions)
    return CompileRow(
        compile=compile_,
        graph=info.graph,
        kind=info.kind.value,
        compile_id=run.compile_id,
        front_end=info.front_end,
        cache=run.cache.value,
        time=_time(run.time),
        host=run.host,
        pid=run.pid,
        world_size=run.world_size,
        torch=versions.get("torch"),
        torch_spyre=versions.get("torch_spyre"),
        recorder=versions.get("torch_spyre_provenance"),
        error=info.error,
        redaction=facts.bundle.redaction.value,
        kernels=len(facts.bundle.kernels or ()),
        ops=found.total,
        measured=found.measured,
        inferred=found.inferred,
        missing=found.missing,
    )


def _time(text: str) -> dt.datetime | None:
    try:
        moment = dt.datetime.fromisoformat(text)
    except ValueError:
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=dt.UTC)


def _kernel_rows(compile_: str, bundle: Bundle) -> Iterator[KernelRow]:
    directories = {files.kernel: files.directory for files in bundle.run.files}
    for kernel in bundle.kernels or ():
        yield KernelRow(
            compile=compile_,
            kernel=kernel.name,
            ops=len(kernel.ops),
            directory=directories.get(kernel.name),
            unimplemented=kernel.unimplemented,
        )


def _op_row(
    compile_: str, kernel: Kernel, op: Op, found: Attribution, link: SdscLink
) -> OpRow:
    first = found.locations[0].frame if found.locations else None
    return OpRow(
        compile=compile_,
        kernel=kernel.name,
        spec_path=op.spec_path,
        op=op.op,
        buffer=op.buffer,
        ir_op=found.ir_op,
        aten_op=found.aten_op,
        module=found.module_path,
        module_type=found.modules[-1].type if found.modules else None,
        evidence=found.evidence.value,
        rule=found.rule.value,
        reason=found.reason,
        pass_name=found.pass_name,
        lines=len(found.locations) + found.more_locations,
        file=first.file if first else None,
        line=first.line if first else None,
        handle_id=str(op.handle.id) if op.handle else None,
        sdsc_file=link.file.name if link.file else None,
        sdsc_handle=link.state.value,
    )


def _places(
    compile_: str, facts: Attributor, found: Attribution
) -> Iterator[LocationRow]:
    for position, place in enumerate(found.locations):
        yield LocationRow(
            compile=compile_,
            kernel=found.kernel,
            spec_path=".".join(map(str, found.path)),
            position=position,
            file=place.frame.file,
            line=place.frame.line,
            function=place.frame.function,
            text=facts.text(place.frame),
        )
