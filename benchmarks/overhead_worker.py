"""One process of the overhead benchmark, which measures one model under conditions.

    python -m benchmarks.overhead_worker ORDER

prints one JSON object for each sample. The order is an `Order` as JSON.
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
from .overhead_order import Order
from .overhead_subjects import make


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, and print each sample as it is taken."""
    (text,) = sys.argv[1:] if arguments is None else arguments
    order = Order(**json.loads(text))
    warnings.simplefilter("ignore")
    make_device(Path(order.checkout) if order.checkout else None)
    model = make(order.subject)
    job = job_of(
        order.subject, model.module, model.inputs, model.others, trains=model.trains
    )
    effort = Effort(n_rounds=order.n_rounds, n_blocks=order.n_blocks, seed=order.seed)
    conditions = [
        each
        for each in ALL_CONDITIONS
        if not order.conditions or each.name in order.conditions
    ]
    for sample in measure(job, conditions, effort):
        print(json.dumps(asdict(sample)), flush=True)


if __name__ == "__main__":
    main()
