"""What is recorded of the device kernels, their ops and their files."""

from __future__ import annotations

from attrs import frozen

from .fx import Field
from .handle import DebugHandle
from .stage import Presence


@frozen(kw_only=True)
class Dim:
    """One dimension of an op's iteration space.

    Attributes:
        symbol: The loop symbol, ``c0``.
        extent: Number of iterations, as text (it may be symbolic).
        split: Number of cores that share it.
    """

    symbol: str
    extent: str
    split: int


@frozen(kw_only=True)
class OpArg:
    """One tensor argument of an op (a `TensorArg`).

    Attributes:
        is_input: Whether the op reads it.
        arg_index: Position among the kernel's runtime arguments; -1 for none.
        device_dtype: Name of the device's data format.
        device_size: Device extents, outermost first; the last is the stick.
        device_coordinates: One expression per device dimension, as text.
        allocation: Where it lives: ``hbm``, ``pool`` or ``lx``, with the offset.
        buffer: The buffer's name where the front end says it, or None.
    """

    is_input: bool
    arg_index: int
    device_dtype: str
    device_size: tuple[str, ...]
    device_coordinates: tuple[str, ...]
    allocation: tuple[tuple[str, str], ...] = ()
    buffer: str | None = None


@frozen(kw_only=True)
class Op:
    """One device op: an `OpSpec` of a kernel.

    Attributes:
        path: Its position in the kernel's tree of specs; one index per loop level.
        op: The device's name for it, ``batchmatmul``.
        is_reduction: Whether it reduces.
        iteration_space: Its dimensions, output dimensions first.
        args: Its tensors, inputs first.
        info: Parameters of the op, as sorted pairs of text.
        loops: Trip counts of the enclosing counted loops, outermost first.
        buffer: The buffer that it computes, or None where that is not known.
        handle: The front end's own `DebugHandle`, verbatim, or None.
        fields: The findings for those tracked fields that the spec has a slot for,
            ``debug_handle`` among them; a field without a finding is absent.
    """

    path: tuple[int, ...]
    op: str
    is_reduction: bool
    iteration_space: tuple[Dim, ...]
    args: tuple[OpArg, ...]
    info: tuple[tuple[str, str], ...] = ()
    loops: tuple[str, ...] = ()
    buffer: str | None = None
    handle: DebugHandle | None = None
    fields: tuple[Field, ...] = ()

    @property
    def spec_path(self) -> str:
        """Return the path as text, ``2`` or ``0.1`` inside a loop."""
        return spec_path_text(self.path)

    @property
    def trips(self) -> str:
        """Return the trip counts of its loops as text, ``8 · 2``, or "" without any."""
        return " · ".join(self.loops)


def spec_path_text(path: tuple[int, ...]) -> str:
    """Return a position in a kernel's tree of specs as text, ``2`` or ``0.1``."""
    return ".".join(map(str, path))


@frozen(kw_only=True)
class Kernel:
    """One device kernel of a compile.

    Attributes:
        name: Name in the generated module; unique within the compile.
        ops: Its ops, in execution order.
        ir_ops: Names of the IR operations that were scheduled into it, in order.
        origins: Names of all FX origins of those operations, sorted.
        metadata: Inductor's comment on the kernel, "" where it has none.
        unimplemented: Name of the op that the device lacks; such a kernel has no files.
    """

    name: str
    ops: tuple[Op, ...]
    ir_ops: tuple[str, ...]
    origins: tuple[str, ...]
    metadata: str = ""
    unimplemented: str | None = None


@frozen(kw_only=True)
class SdscFile:
    """One ``sdsc_N.json`` as found on disk.

    Attributes:
        name: File name.
        op_key: Its one top-level key, ``0_batchmatmul``.
        sha256: Digest of its bytes, in hexadecimal.
        handle_presence: What stands under ``debug_handle_``.
        handle: That handle, verbatim, or None.
    """

    name: str
    op_key: str
    sha256: str
    handle_presence: Presence
    handle: DebugHandle | None = None


@frozen(kw_only=True)
class KernelFiles:
    """The directory of one kernel, in this process.

    Attributes:
        kernel: The kernel's name.
        directory: Absolute path.
        sdsc: Its ``sdsc_N.json`` files, by number.
        executes: Name of the file that each op runs, by op position; several ops may
            share one.
    """

    kernel: str
    directory: str
    sdsc: tuple[SdscFile, ...]
    executes: tuple[str, ...] = ()
