"""Whether what a bundle says hangs together, and still is what lies on disk.

Both are pure functions. What lies on disk is read by `store.kernel_files`, and only
where somebody asks for it: a bundle may come from a stranger, and so may its paths.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from enum import StrEnum

from attrs import frozen

from ..model import (
    Bundle,
    DebugHandle,
    FxGraph,
    FxNode,
    IrGraph,
    Kernel,
    KernelFiles,
    handle_id,
    spec_path_text,
)
from .sdsc import LinkState, link_files

KNOWN_RECIPE = frozenset({"reference", "torch-spyre-cardless"})
"""Front ends whose handles are known to have the id of `handle_id`.

A card's torch-spyre may be newer than the releases that were looked at.
"""


class Check(StrEnum):
    """What was looked at.

    ``NAME``: names that must be unique. ``REFERENCE``: names of other parts of the
    bundle. ``INVERSE``: two maps of which each is the other one backwards. ``ID``: ids
    that follow from content. ``MISSING``, ``CHANGED``, ``ADDED``: files on disk.
    ``SHARED``, ``STALE``: files that speak of other ops than the one that runs them.
    """

    NAME = "name"
    REFERENCE = "reference"
    INVERSE = "inverse"
    ID = "id"
    MISSING = "missing"
    CHANGED = "changed"
    ADDED = "added"
    SHARED = "shared"
    STALE = "stale"

    @property
    def is_defect(self) -> bool:
        """Return whether such a finding means that something is broken.

        Sharing files and keeping those of an equal kernel is what torch-spyre does.
        """
        return self not in (Check.SHARED, Check.STALE)


@frozen(kw_only=True)
class Finding:
    """One thing that is not as it should be, or is worth knowing.

    Attributes:
        check: What was looked at.
        where: The part of the bundle, or the file.
        text: What was found there.
    """

    check: Check
    where: str
    text: str


def verify(bundle: Bundle) -> tuple[Finding, ...]:
    """Return what is wrong inside a bundle, and which SDSC files speak of others.

    Args:
        bundle: A bundle that its reader accepted.
    """
    return (
        *_names(bundle),
        *_references(bundle),
        *_inverses(bundle),
        *_ids(bundle),
        *_links(bundle),
    )


def compare_files(
    bundle: Bundle, on_disk: Mapping[str, KernelFiles | None], module_sha256: str | None
) -> tuple[Finding, ...]:
    """Return how kernel directories and generated code differ from the record.

    Args:
        bundle: The bundle.
        on_disk: What each kernel's directory holds now, by the kernel's name; None for
            one that cannot be read.
        module_sha256: The digest of the generated module now; None where it is gone.
    """
    found = [
        finding
        for files in bundle.run.files
        for finding in _compared(files, on_disk.get(files.kernel))
    ]
    run = bundle.run
    if run.module is not None and run.module_sha256 is not None:
        if module_sha256 is None:
            found.append(_missing(run.module, "the generated module is gone"))
        elif module_sha256 != run.module_sha256:
            text = "the generated module is another one"
            found.append(Finding(check=Check.CHANGED, where=run.module, text=text))
    return tuple(found)


def _missing(where: str, text: str) -> Finding:
    return Finding(check=Check.MISSING, where=where, text=text)


def _compared(then: KernelFiles, now: KernelFiles | None) -> Iterator[Finding]:
    if now is None:
        yield _missing(then.directory, f"the directory of {then.kernel} is gone")
        return
    before = {file.name: file for file in then.sdsc}
    after = {file.name: file for file in now.sdsc}
    for name in sorted(before.keys() | after.keys()):
        where = f"{then.directory}/{name}"
        if name not in after:
            yield _missing(where, "the file is gone")
        elif name not in before:
            text = "the file was not there when the kernel was made"
            yield Finding(check=Check.ADDED, where=where, text=text)
        elif before[name].sha256 != after[name].sha256:
            text = "the file has other content than when the kernel was made"
            yield Finding(check=Check.CHANGED, where=where, text=text)
    if then.executes != now.executes:
        text = "the kernel runs other files than when it was made"
        where = f"{then.directory}/bundle.mlir"
        yield Finding(check=Check.CHANGED, where=where, text=text)


def _names(bundle: Bundle) -> Iterator[Finding]:
    lists = {
        "$.fx_pre_grad.nodes": [n.name for n in _nodes(bundle.fx_pre_grad)],
        "$.fx_post_grad.nodes": [n.name for n in _nodes(bundle.fx_post_grad)],
        "$.kernels": [kernel.name for kernel in bundle.kernels or ()],
        "$.run.files": [files.kernel for files in bundle.run.files],
        "$.sources": [file.path for file in bundle.sources],
    }
    for stage, graph in _loop_irs(bundle):
        lists[f"$.{stage}.ops"] = [f"{op.name} ({op.buffer})" for op in graph.ops]
    for number, kernel in enumerate(bundle.kernels or ()):
        lists[f"$.kernels[{number}].ops"] = [op.spec_path for op in kernel.ops]
    for where, names in lists.items():
        for name, count in Counter(names).items():
            if count > 1:
                text = f"{name} is there {count} times"
                yield Finding(check=Check.NAME, where=where, text=text)


def _references(bundle: Bundle) -> Iterator[Finding]:
    for stage in ("fx_pre_grad", "fx_post_grad"):
        graph: FxGraph | None = getattr(bundle, stage)
        known = {node.name for node in _nodes(graph)} | _inputs(graph)
        known |= _subgraphs(graph)
        for number, node in enumerate(_nodes(graph)):
            yield from _unknown(node.inputs, known, f"$.{stage}.nodes[{number}].inputs")
        yield from _unknown(graph.outputs if graph else (), known, f"$.{stage}.outputs")
    post = {node.name for node in _nodes(bundle.fx_post_grad)}
    for stage, ir in _loop_irs(bundle):
        known = post | {node.name for node in ir.nodes} | _inputs(bundle.fx_post_grad)
        for number, op in enumerate(ir.ops):
            if bundle.fx_post_grad is not None:
                where = f"$.{stage}.ops[{number}].origins"
                yield from _unknown(op.origins, known, where)
    yield from _kernel_references(bundle)


def _kernel_references(bundle: Bundle) -> Iterator[Finding]:
    kernels = {kernel.name for kernel in bundle.kernels or ()}
    for number, files in enumerate(bundle.run.files):
        where = f"$.run.files[{number}]"
        yield from _unknown((files.kernel,), kernels, f"{where}.kernel")
        there = {file.name for file in files.sdsc}
        yield from _unknown(files.executes, there, f"{where}.executes")
    if bundle.loop_ir_post is None:
        return
    ops = {op.name for op in bundle.loop_ir_post.ops}
    # Subgraphs' operations are compiled along and recorded as kernels alone.
    inside = tuple(f"{name}_" for name in _subgraphs(bundle.fx_post_grad))
    for number, kernel in enumerate(bundle.kernels or ()):
        names = [name for name in kernel.ir_ops if not name.startswith(inside)]
        yield from _unknown(names, ops, f"$.kernels[{number}].ir_ops")


def _unknown(names: Iterable[str], known: set[str], where: str) -> Iterator[Finding]:
    for name in names:
        if name not in known:
            text = f"there is no {name}"
            yield Finding(check=Check.REFERENCE, where=where, text=text)


def _inverses(bundle: Bundle) -> Iterator[Finding]:
    """Compare the operations of each kernel with the kernel of each operation."""
    if bundle.loop_ir_post is None:
        return
    writers = {op.buffer: op.name for op in bundle.loop_ir_post.ops if op.buffer}
    homes: dict[str, str] = {}
    for number, kernel in enumerate(bundle.kernels or ()):
        where = f"$.kernels[{number}]"
        for name in kernel.ir_ops:
            if homes.setdefault(name, kernel.name) != kernel.name:
                text = f"{name} is in {homes[name]}, too"
                yield Finding(check=Check.INVERSE, where=f"{where}.ir_ops", text=text)
        yield from _strangers(kernel, writers, where)


def _strangers(
    kernel: Kernel, writers: Mapping[str, str], where: str
) -> Iterator[Finding]:
    for place, op in enumerate(kernel.ops):
        name = writers.get(op.buffer or "")
        if name is not None and name not in kernel.ir_ops:
            text = f"{op.buffer} is computed by {name}, which is not in this kernel"
            yield Finding(
                check=Check.INVERSE, where=f"{where}.ops[{place}].buffer", text=text
            )


def _ids(bundle: Bundle) -> Iterator[Finding]:
    if bundle.compile.front_end not in KNOWN_RECIPE:
        return
    for where, handle in _handles(bundle):
        for each in (handle, *handle.fused_from):
            wanted = handle_id(each.source, each.aten_op, each.ir_chain)
            if each.id != wanted:
                text = f"the content of handle {each.id} gives the id {wanted}"
                yield Finding(check=Check.ID, where=where, text=text)


def _handles(bundle: Bundle) -> Iterator[tuple[str, DebugHandle]]:
    for number, kernel in enumerate(bundle.kernels or ()):
        for place, op in enumerate(kernel.ops):
            if op.handle is not None:
                yield f"$.kernels[{number}].ops[{place}].handle", op.handle
    for number, files in enumerate(bundle.run.files):
        for place, file in enumerate(files.sdsc):
            if file.handle is not None:
                yield f"$.run.files[{number}].sdsc[{place}].handle", file.handle


def _links(bundle: Bundle) -> Iterator[Finding]:
    spoken = {
        LinkState.SHARED: (Check.SHARED, "several ops run this file; it names one"),
        LinkState.STALE: (Check.STALE, "the file names another op than runs it"),
    }
    directories = {files.kernel: files.directory for files in bundle.run.files}
    for link in link_files(bundle):
        if link.state in spoken and link.file is not None:
            check, text = spoken[link.state]
            path = spec_path_text(link.path)
            yield Finding(
                check=check,
                where=f"{directories[link.kernel]}/{link.file.name}",
                text=f"{link.kernel}:{path}: {text}",
            )


def _nodes(graph: FxGraph | None) -> tuple[FxNode, ...]:
    return graph.nodes if graph else ()


def _subgraphs(graph: FxGraph | None) -> set[str]:
    """Return what higher-order operators read beside tensors: graphs of their own."""
    nodes = _nodes(graph)
    names = {node.name for node in nodes} | _inputs(graph)
    readers = (node for node in nodes if "higher_order." in node.target)
    return {name for node in readers for name in node.inputs if name not in names}


def _inputs(graph: FxGraph | None) -> set[str]:
    return set(graph.placeholders) if graph else set()


def _loop_irs(bundle: Bundle) -> Iterator[tuple[str, IrGraph]]:
    if bundle.loop_ir_pre is not None:
        yield "loop_ir_pre", bundle.loop_ir_pre
    if bundle.loop_ir_post is not None:
        yield "loop_ir_post", bundle.loop_ir_post
