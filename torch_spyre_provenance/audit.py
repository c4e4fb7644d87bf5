"""One audit: a subject compiled once, on the Spyre device, while it is recorded."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext, suppress
from pathlib import Path

from .errors import LaunchError, OutputError, SubjectError
from .model import Bundle
from .subjects import Blame, Subject, load_subject

DEVICE = "spyre"


def audit(
    spec: str,
    *,
    out: Path | None = None,
    torch_spyre: Path | None = None,
    notify: Callable[[str], None] = lambda _: None,
) -> tuple[tuple[Bundle, Path], ...]:
    """Compile a subject and return the bundle of each compile, with its directory.

    Args:
        spec: ``MODULE:FACTORY``, as for `load_subject`; the working directory is
            searched too.
        out: Where the bundles go; by default next to the kernels.
        torch_spyre: A torch-spyre checkout to compile through without a card. Its
            kernels are compiled and not run.
        notify: Told of each step as it begins.

    Returns:
        One bundle for each graph that was compiled, in order; at least one.

    Raises:
        OutputError: `out` cannot be written to.
        SubjectError: The subject cannot be loaded, compiled or run.
    """
    notify(f"loading {spec}")
    subject = load_subject(spec, search=Path.cwd())
    # Late, because it imports torch.
    from .activation import record

    with record(out=out, torch_spyre=torch_spyre) as recording:
        notify(f"compiling {subject.name} for {DEVICE}")
        with Blame(f"cannot compile and run {spec}"), _no_launch(torch_spyre):
            _run(subject)
    if not recording.bundles:
        raise SubjectError(f"{spec} ran, but nothing in it was compiled")
    written = tuple(
        (made.bundle, made.path) for made in recording.bundles if made.path is not None
    )
    if len(written) < len(recording.bundles):
        raise OutputError("a bundle was recorded and could not be written")
    return written


def _no_launch(torch_spyre: Path | None) -> AbstractContextManager[None]:
    """Accept that a kernel which was compiled without a card is not run."""
    if torch_spyre is None:
        return nullcontext()
    return suppress(LaunchError)


def _run(subject: Subject) -> None:
    import torch
    from torch.utils._pytree import tree_map_only

    from .backend import spyre_provenance

    module = subject.module
    if isinstance(module, torch.nn.Module):
        module = module.to(DEVICE)
    inputs = tree_map_only(torch.Tensor, lambda host: host.to(DEVICE), subject.inputs)
    with torch.no_grad():
        compiled: Callable[..., object] = torch.compile(
            module, backend=spyre_provenance
        )
        compiled(*inputs)
