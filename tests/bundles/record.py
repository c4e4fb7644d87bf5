"""Record the bundles of this directory's models: ``record.py TAG [DIRECTORY]``.

TAG stands for the torch version in the files' names, ``torch2.13``; they are written
here, or into DIRECTORY. Paths, host, process and time are replaced, so that a second
recording differs only where the recorder or the front end does.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import torch
from attrs import evolve

from torch_spyre_provenance import record
from torch_spyre_provenance.backend import spyre_provenance
from torch_spyre_provenance.model import (
    Bundle,
    DebugHandle,
    Kernel,
    KernelFiles,
    handle_id,
)
from torch_spyre_provenance.store import dumps, loads

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import models  # noqa: E402  the models lie beside this script

torch.manual_seed(0)


def half(*shape: int) -> torch.Tensor:
    """Return a random half-precision tensor on the device."""
    return torch.randn(*shape, dtype=torch.float16).to("spyre")


SUBJECTS = {
    "simple_mlp": (models.SimpleMLP, ((2, 128),)),
    "attention": (models.Attention, ((2, 64, 128),)),
    "plain_weight": (models.PlainWeight, ((64, 128), (256, 128), (256,))),
    "twice": (models.Twice, ((64, 128), (128, 128), (128,))),
}


def main(tag: str, directory: Path = HERE) -> None:
    """Write one bundle for each subject."""
    for name, (subject, shapes) in SUBJECTS.items():
        torch._dynamo.reset()
        with (
            tempfile.TemporaryDirectory() as out,
            record(out, strict=True) as recording,
        ):
            model = torch.compile(
                subject().half().to("spyre"), backend=spyre_provenance
            )
            with torch.no_grad():
                model(*(half(*shape) for shape in shapes))
        (recorded,) = recording.bundles
        bundle = neutral(recorded.bundle, name)
        (directory / f"{name}_{tag}.json").write_bytes(dumps(bundle))


def neutral(bundle: Bundle, name: str) -> Bundle:
    """Return a bundle without what is this machine's alone."""
    text = dumps(bundle).decode().replace(str(HERE), "/models")
    for number, files in enumerate(bundle.run.files):
        text = text.replace(files.directory, f"/cache/inductor-spyre/kernel_{number}")
    if bundle.run.module:
        text = text.replace(bundle.run.module, "/cache/module.py")
    moved = loads(text.encode())
    run = evolve(
        moved.run,
        name=name,
        host="laptop",
        pid=4711,
        time="2026-08-01T12:00:00+00:00",
        files=tuple(with_file_ids(files) for files in moved.run.files),
    )
    kernels = tuple(with_op_ids(kernel) for kernel in moved.kernels or ())
    return evolve(moved, kernels=kernels, run=run)


def with_op_ids(kernel: Kernel) -> Kernel:
    """Return a kernel whose handles have the ids of the neutral paths."""
    ops = tuple(evolve(op, handle=with_ids(op.handle)) for op in kernel.ops)
    return evolve(kernel, ops=ops)


def with_file_ids(files: KernelFiles) -> KernelFiles:
    """Return files whose handles have the ids of the neutral paths."""
    return evolve(
        files,
        sdsc=tuple(evolve(file, handle=with_ids(file.handle)) for file in files.sdsc),
    )


def with_ids(handle: DebugHandle | None) -> DebugHandle | None:
    """Return a handle, and its constituents, with ids that fit what they say."""
    if handle is None:
        return None
    return evolve(
        handle,
        id=handle_id(handle.source, handle.aten_op, handle.ir_chain),
        fused_from=tuple(
            part for part in map(with_ids, handle.fused_from) if part is not None
        ),
    )


if __name__ == "__main__":
    main(sys.argv[1], *map(Path, sys.argv[2:]))
