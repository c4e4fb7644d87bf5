"""The tables: what a row of each holds.

A row's class is its table's schema. Every row names its compile; job and rank are not
in the rows, since tables are partitioned by them.
"""

from __future__ import annotations

import datetime as dt

from attrs import frozen


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
