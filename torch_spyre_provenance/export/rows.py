"""The rows that a bundle becomes; what they are written with is no matter here."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator

from ..analysis.attribution import Attribution, Attributor
from ..analysis.coverage import measure_coverage
from ..analysis.losses import find_losses
from ..analysis.sdsc import SdscLink, link_files
from ..model import Bundle, Kernel, Op, spec_path_text
from .tables import CompileRow, KernelRow, LocationRow, LossRow, OpRow, Row


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
            spec_path=spec_path_text(found.path),
            position=position,
            file=place.frame.file,
            line=place.frame.line,
            function=place.frame.function,
            text=facts.text(place.frame),
        )
