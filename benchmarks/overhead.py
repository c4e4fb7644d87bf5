"""What does recording cost, and what do the alternatives cost?

    python -m benchmarks.overhead

measures compiles (anew, from the cache, for another shape) and calls of some models in
one process for each model, and whole fresh processes; each with recording off and on
by turns, in a random order. The condition "off again" is off as well: what it differs
by is the noise of the machine. Processor time comes first; each figure is the median
of the ratios within a round, with its 95 % interval.

``--quick`` looks at two models, without the alternatives, for about two minutes.
``--max-cost`` and ``--max-own`` make it a gate: it exits with 3 where recording costs
surely more, or where the recorder's own share is larger.
``--from FILE --summary CONDITION`` prints a short table of an earlier run's figures.

``TORCH_SPYRE_CHECKOUT`` names a torch-spyre checkout to compile through; no kernel
runs then, and no calls and no whole processes are measured.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from attrs import asdict

from torch_spyre_provenance.cost import Cost
from torch_spyre_provenance.measuring.intervals import Interval
from torch_spyre_provenance.measuring.machine import machine_facts
from torch_spyre_provenance.measuring.samples import AGAIN, Comparison, Sample, compare
from torch_spyre_provenance.measuring.table import summary_table

from .overhead_order import QUICK_SUBJECTS, REGULAR, SUBJECTS, Order
from .overhead_processes import ROOT, measure_processes

EXIT_COSTLY = 3
ROUNDS, QUICK_ROUNDS = 12, 3
BLOCKS, QUICK_BLOCKS = 10, 3
GATED = ("fresh", "hit")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark and return its exit code."""
    options = _parser().parse_args(arguments)
    if options.figures_of:
        comparisons = read_figures(Path(options.figures_of))
        for condition in options.summary or ("on",):
            print(summary_table(comparisons, condition))
        return 0
    n_rounds = options.rounds or (QUICK_ROUNDS if options.quick else ROUNDS)
    subjects = options.only or (QUICK_SUBJECTS if options.quick else SUBJECTS)
    samples = []
    start = time.monotonic()
    for sample in _samples(subjects, n_rounds, options):
        samples.append(sample)
        if sys.stderr.isatty():
            seconds = time.monotonic() - start
            print(f"{len(samples)} samples, {seconds:.0f} s", end="\r", file=sys.stderr)
    cost = Cost(
        machine=machine_facts(), samples=tuple(samples), comparisons=compare(samples)
    )
    if options.json:
        Path(options.json).write_text(json.dumps(cost.facts(), indent=1) + "\n")
    if options.figures:
        facts = cost.facts() | {"samples": []}
        Path(options.figures).write_text(json.dumps(facts, indent=1) + "\n")
    if options.plot:
        from .overhead_plot import plot

        plot(cost.comparisons, Path(options.plot))
    print(cost.text())
    costly = list(_verdicts(cost.comparisons, options))
    for line in costly:
        print(line, file=sys.stderr)
    return EXIT_COSTLY if costly else 0


def read_figures(path: Path) -> tuple[Comparison, ...]:
    """Return the figures that ``--json`` or ``--figures`` wrote.

    Args:
        path: The file.
    """
    facts = json.loads(path.read_bytes())["comparisons"]
    return tuple(
        Comparison(**each | {kind: Interval(**each[kind]) for kind in ("cpu", "wall")})
        for each in facts
    )


def too_costly(comparisons: Sequence[Comparison], most: float) -> Iterator[str]:
    """Yield a line for each compile that recording makes surely more costly than that.

    "Surely" means: the lower end of the interval is above the limit and above the
    noise, which is the upper end of the interval of off against off.

    Args:
        comparisons: All comparisons.
        most: The limit, 0.03 for 3 %.
    """
    floors = {
        (each.subject, each.workload): each.cpu.high
        for each in comparisons
        if each.condition == AGAIN
    }
    for each in comparisons:
        if each.condition != "on" or each.workload not in GATED:
            continue
        floor = floors.get((each.subject, each.workload), 1.0)
        if each.cpu.low > max(1 + most, floor):
            yield (
                f"{each.subject}, {each.workload}: at least {each.cpu.low - 1:+.1%}, "
                f"where {most:.1%} is most and the noise is {floor - 1:+.1%}"
            )


def too_large(comparisons: Sequence[Comparison], most: float) -> Iterator[str]:
    """Yield a line for each compile of which the recorder itself takes more than that.

    Args:
        comparisons: All comparisons.
        most: The limit, 0.03 for 3 % of the compile's processor time.
    """
    for each in comparisons:
        if each.condition == "on" and each.workload in GATED and each.own > most:
            yield (
                f"{each.subject}, {each.workload}: recording itself takes "
                f"{each.own:.1%}, where {most:.1%} is most"
            )


def _verdicts(
    comparisons: Sequence[Comparison], options: argparse.Namespace
) -> Iterator[str]:
    if options.max_cost is not None:
        yield from too_costly(comparisons, options.max_cost / 100)
    if options.max_own is not None:
        yield from too_large(comparisons, options.max_own / 100)


def _samples(
    subjects: Sequence[str], n_rounds: int, options: argparse.Namespace
) -> Iterator[Sample]:
    checkout = os.environ.get("TORCH_SPYRE_CHECKOUT")
    n_blocks = QUICK_BLOCKS if options.quick else BLOCKS
    for subject in subjects:
        order = Order(
            subject=subject,
            n_rounds=n_rounds,
            n_blocks=0 if checkout or options.compiles_only else n_blocks,
            seed=options.seed,
            conditions=tuple(options.condition or (REGULAR if options.quick else ())),
            checkout=checkout,
        )
        yield from _worker(order)
    if not (checkout or options.quick or options.compiles_only):
        n_processes = max(2, n_rounds // 2)
        yield from measure_processes(QUICK_SUBJECTS, n_processes, options.seed)


def _worker(order: Order) -> Iterator[Sample]:
    text = json.dumps(asdict(order))
    with subprocess.Popen(
        [sys.executable, "-m", "benchmarks.overhead_worker", text],
        cwd=ROOT,
        env={**os.environ, "TORCHINDUCTOR_COMPILE_THREADS": "1"},
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        for line in process.stdout or ():
            if line.startswith("{"):
                yield Sample(**json.loads(line))
    if process.returncode:
        raise RuntimeError(f"{order.subject} ended with {process.returncode}")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="overhead", description=(__doc__ or "").partition("\n")[0]
    )
    parser.add_argument(
        "--quick",
        action="store_true",
        help="two models, no alternatives, few rounds: two minutes",
    )
    parser.add_argument(
        "--only", action="append", choices=SUBJECTS, help="measure this model only"
    )
    parser.add_argument(
        "--rounds", type=int, metavar="N", help=f"rounds of compiles ({ROUNDS})"
    )
    parser.add_argument("--seed", type=int, default=0, help="of the random orders (0)")
    parser.add_argument(
        "--compiles-only",
        action="store_true",
        help="measure no calls and no whole processes",
    )
    parser.add_argument(
        "--condition",
        action="append",
        metavar="NAME",
        help="measure under this condition, besides others that are named so (all)",
    )
    parser.add_argument(
        "--json", metavar="FILE", help="write every sample, ratio and interval there"
    )
    parser.add_argument(
        "--figures", metavar="FILE", help="write them there without the samples"
    )
    parser.add_argument("--plot", metavar="FILE", help="draw the figures there (SVG)")
    parser.add_argument(
        "--from",
        dest="figures_of",
        metavar="FILE",
        help="measure nothing: print a short table of the figures in a file",
    )
    parser.add_argument(
        "--summary",
        action="append",
        metavar="NAME",
        help="with --from: the condition of the table (on); more than once for several",
    )
    parser.add_argument(
        "--max-cost",
        type=float,
        metavar="PERCENT",
        help="exit with 3 where a compile costs surely more",
    )
    parser.add_argument(
        "--max-own",
        type=float,
        metavar="PERCENT",
        help="exit with 3 where the recorder's own share of a compile is larger",
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
