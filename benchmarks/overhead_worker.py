"""One process of the overhead benchmark, which measures one model under all conditions.

    python -m benchmarks.overhead_worker SUBJECT N_ROUNDS N_BLOCKS SEED [CHECKOUT]

prints one JSON object for each sample.
"""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path

from attrs import asdict

from torch_spyre_provenance.measuring.trials import Effort, measure
from torch_spyre_provenance.measuring.workloads import job_of, make_device

from .overhead_conditions import ALL_CONDITIONS
from .overhead_subjects import make


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, and print each sample as it is taken."""
    given = sys.argv[1:] if arguments is None else arguments
    name, n_rounds, n_blocks, seed, *checkout = given
    warnings.simplefilter("ignore")
    make_device(Path(checkout[0]) if checkout else None)
    model = make(name)
    job = job_of(name, model.module, model.inputs, model.others, trains=model.trains)
    effort = Effort(n_rounds=int(n_rounds), n_blocks=int(n_blocks), seed=int(seed))
    for sample in measure(job, ALL_CONDITIONS, effort):
        print(json.dumps(asdict(sample)), flush=True)


if __name__ == "__main__":
    main()
