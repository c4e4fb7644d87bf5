"""What recording costs on one model: the measurement behind ``bench``."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from attrs import asdict, frozen

from .measuring.machine import machine_facts
from .measuring.samples import Comparison, Sample, compare
from .measuring.table import cost_table, facts_text
from .subjects import Blame, load_subject


@frozen(kw_only=True)
class Cost:
    """Figures of cost, and all that they were made from.

    Attributes:
        machine: The facts of the machine.
        samples: Every sample.
        comparisons: Each condition against the base.
    """

    machine: Mapping[str, str]
    samples: tuple[Sample, ...]
    comparisons: tuple[Comparison, ...]

    def text(self) -> str:
        """Return the table, and the machine below it."""
        return f"{cost_table(self.comparisons)}\n\n{facts_text(self.machine)}"

    def facts(self) -> dict[str, Any]:
        """Return everything as plain values for JSON."""
        return {
            "machine": dict(self.machine),
            "comparisons": [asdict(each) for each in self.comparisons],
            "samples": [asdict(each) for each in self.samples],
        }


def cost_of(
    spec: str,
    *,
    n_rounds: int,
    torch_spyre: Path | None = None,
    notify: Callable[[str], None] = lambda _: None,
) -> Cost:
    """Measure what recording costs on a model.

    Args:
        spec: ``MODULE:FACTORY``, as for `load_subject`; the working directory is
            searched too.
        n_rounds: Compiles under each condition.
        torch_spyre: A torch-spyre checkout to compile through without a card. Its
            kernels are compiled and not run, so that no calls are measured.
        notify: Told of each step as it begins.

    Raises:
        FrontEndError: There is no front end.
        SubjectError: The model cannot be loaded, compiled or run.
    """
    # Before torch is imported: compiling in other processes would hide its cost.
    os.environ.setdefault("TORCHINDUCTOR_COMPILE_THREADS", "1")
    notify(f"loading {spec}")
    subject = load_subject(spec, search=Path.cwd())
    # Late, because they import torch.
    from .measuring.conditions import CONDITIONS
    from .measuring.trials import Effort, measure
    from .measuring.workloads import job_of, make_device

    make_device(torch_spyre)
    effort = Effort(n_rounds=n_rounds, n_blocks=0 if torch_spyre else n_rounds)
    with Blame(f"cannot compile and run {spec}"):
        job = job_of(subject.name, subject.module, subject.inputs)
        notify(f"measuring {n_rounds} rounds")
        samples = tuple(measure(job, CONDITIONS, effort))
    return Cost(machine=machine_facts(), samples=samples, comparisons=compare(samples))
