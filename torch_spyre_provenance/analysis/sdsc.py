"""Which ``sdsc_N.json`` each op runs, and whether that file speaks of this op.

torch-spyre lets equal ops share one file, and its kernel cache ignores provenance, so a
file on disk can carry another op's handle, or another compile's.
"""

from __future__ import annotations

from collections import Counter
from enum import StrEnum

from attrs import frozen

from ..model import Bundle, Kernel, KernelFiles, Op, SdscFile


class LinkState(StrEnum):
    """Whose handle a file carries.

    ``OWN``: this op's. ``SHARED``: several ops run the file, and it can name one only.
    ``STALE``: another compile's. ``UNKNOWN``: there is no file, or nothing to compare.
    """

    OWN = "own"
    SHARED = "shared"
    STALE = "stale"
    UNKNOWN = "unknown"


@frozen(kw_only=True)
class SdscLink:
    """The file that one op runs.

    Attributes:
        kernel: The kernel's name.
        path: The op's position in the kernel's tree of specs.
        file: The file, or None where it is not known.
        state: Whose handle it carries.
    """

    kernel: str
    path: tuple[int, ...]
    file: SdscFile | None
    state: LinkState


def link_files(bundle: Bundle) -> tuple[SdscLink, ...]:
    """Return the file of every device op of a bundle, in execution order."""
    directories = {files.kernel: files for files in bundle.run.files}
    return tuple(
        link
        for kernel in bundle.kernels or ()
        for link in _kernel_links(kernel, directories.get(kernel.name))
    )


def _kernel_links(kernel: Kernel, files: KernelFiles | None) -> list[SdscLink]:
    names = files.executes if files else ()
    if len(names) != len(kernel.ops):
        names = ("",) * len(kernel.ops)
    by_name = {file.name: file for file in files.sdsc} if files else {}
    uses = Counter(names)
    return [
        SdscLink(
            kernel=kernel.name,
            path=op.path,
            file=by_name.get(name),
            state=_state(op, by_name.get(name), uses[name]),
        )
        for op, name in zip(kernel.ops, names, strict=True)
    ]


def _state(op: Op, file: SdscFile | None, uses: int) -> LinkState:
    if file is None:
        return LinkState.UNKNOWN
    if uses > 1:
        return LinkState.SHARED
    if op.handle is None and file.handle is None:
        return LinkState.UNKNOWN
    if op.handle is None or file.handle is None or op.handle.id != file.handle.id:
        return LinkState.STALE
    return LinkState.OWN
