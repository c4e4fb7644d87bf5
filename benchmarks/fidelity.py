"""How true are the attributions? Programs whose true lines are known independently.

    python -m benchmarks.fidelity --programs 500

compiles one program for every operator and every kind, and random ones; it prints, for
each kind and in total, how many device ops were attributed, by what evidence, and how
many of them wrongly, next to the same for the front end's own debug handles. It exits
with 3 if any attribution is wrong, and with 1 if a program could not be compiled that
the front end does not refuse.

``--lose 0.5`` takes the traces from half of the nodes after recording: what no node
tells any more is left to the rules, and they may leave it open, but not get it wrong.

``TORCH_SPYRE_CHECKOUT`` names a torch-spyre checkout to compile through; otherwise the
reference front end does it.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .kinds import KINDS, one_of_each, random_programs

if TYPE_CHECKING:
    from .execution import Setup
    from .programs import Program
    from .scores import Result, Verdict

EXIT_FAILED, EXIT_WRONG = 1, 3

_OURS = ("ops", "measured", "inferred", "missing", "wrong")
_THEIRS = ("measured", "missing", "wrong")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark and return its exit code."""
    options = _parser().parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="spyre-fidelity-") as scratch:
        work = Path(options.keep or scratch).absolute()
        # An entry that another run cached would bring that run's lines with it.
        os.environ["TORCHINDUCTOR_CACHE_DIR"] = str(Path(scratch, "cache"))
        os.environ.setdefault("TORCHINDUCTOR_COMPILE_THREADS", "1")
        from .execution import Setup

        checkout = os.environ.get("TORCH_SPYRE_CHECKOUT")
        setup = Setup(
            work=work,
            checkout=Path(checkout) if checkout else None,
            backend=options.backend,
        )
        programs = _programs(options)
        results = []
        for result in compile_all(programs, setup, options.lose):
            results.append(result)
            for line in details(result, everything=options.verbose):
                print(line, file=sys.stderr)
            if sys.stderr.isatty():
                print(f"{len(results)} of {len(programs)}", end="\r", file=sys.stderr)
        return report(
            results, json_form=options.json, must_compile=setup.checkout is None
        )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="fidelity", description=(__doc__ or "").partition("\n")[0]
    )
    parser.add_argument(
        "--programs", type=int, default=0, metavar="N", help="random programs (0)"
    )
    parser.add_argument(
        "--seed",
        type=int,
        default=100,
        metavar="S",
        help="seed of the first ones (100; the fixed programs have those below)",
    )
    parser.add_argument(
        "--only",
        metavar="KIND:SEED",
        action="append",
        type=named_program,
        help="compile just this program, as the list of --verbose names it",
    )
    parser.add_argument(
        "--backend",
        default="inductor",
        choices=("inductor", "spyre_provenance"),
        help="the Dynamo backend to compile with (inductor)",
    )
    parser.add_argument(
        "--lose",
        type=float,
        default=0.0,
        metavar="SHARE",
        help="take the traces from this share of the recorded nodes (0)",
    )
    parser.add_argument("--json", action="store_true", help="print the numbers as JSON")
    parser.add_argument(
        "--verbose",
        action="store_true",
        help="list missing lines too, and wrong ones of the front end's own",
    )
    parser.add_argument(
        "--keep", metavar="DIR", help="leave the programs and their bundles there"
    )
    return parser


def _programs(options: argparse.Namespace) -> list[Program]:
    if options.only:
        return list(options.only)
    return [*one_of_each(), *random_programs(options.programs, options.seed)]


def named_program(name: str) -> Program:
    """Return the program that ``KIND:SEED`` names.

    Raises:
        argparse.ArgumentTypeError: There is no such kind, or the seed is no number.
    """
    kind, _, seed = name.partition(":")
    if kind not in KINDS or not seed.isdecimal():
        kinds = ", ".join(KINDS)
        raise argparse.ArgumentTypeError(
            f"{name!r} is not KIND:SEED with one of the kinds {kinds}"
        )
    return KINDS[kind](int(seed))


def compile_all(
    programs: Iterable[Program], setup: Setup, lost: float = 0.0
) -> Iterator[Result]:
    """Compile programs one after the other and yield what came of each.

    Args:
        programs: The programs.
        setup: How they are compiled.
        lost: The share of the nodes that lose their traces before attribution.
    """
    from .execution import run
    from .forgetting import forget
    from .scores import judge

    for program in programs:
        yield judge(forget(run(program, setup), lost))


def report(
    results: list[Result], *, json_form: bool = False, must_compile: bool = True
) -> int:
    """Print the numbers.

    Args:
        results: What came of each program.
        json_form: Print them as JSON instead of as a table.
        must_compile: Whether a program that was not compiled is a failure. The
            reference front end compiles or refuses them; a torch-spyre need not.

    Returns:
        The exit code.
    """
    from .scores import score

    n_open = sum(v.is_open for result in results for v in result.verdicts)
    if n_open:
        print(f"{n_open} ops whose extents tell no line", file=sys.stderr)
    n_refused = sum(result.error is not None for result in results)
    if n_refused:
        print(f"{n_refused} programs were not compiled whole", file=sys.stderr)
    print(json.dumps(as_json(results)) if json_form else table(results))
    if score(v for result in results for v in result.verdicts).wrong:
        return EXIT_WRONG
    failed = any(result.is_failure for result in results)
    return EXIT_FAILED if failed and must_compile else 0


def details(result: Result, *, everything: bool) -> Iterator[str]:
    """Yield a line for what went wrong with a program and for each wrong op of it.

    Args:
        result: What came of the program.
        everything: List missing lines and the front end's wrong ones, too.
    """
    if result.error is not None:
        yield f"{result.program} was not compiled: {result.error}"
    for verdict in result.verdicts:
        states = _states(verdict)
        if verdict.is_wrong or (states and everything):
            yield (
                f"{', '.join(states)}: {result.program} {verdict.op}: "
                f"true {verdict.expected}, claimed {' and '.join(verdict.claimed)} "
                f"({verdict.evidence}, {verdict.reason}), handle {verdict.handle}"
            )


def _states(verdict: Verdict) -> list[str]:
    findings = {
        "wrong": verdict.is_wrong,
        "missing": not verdict.claimed,
        "open": verdict.is_open,
        "handle wrong": verdict.is_handle_wrong,
    }
    return [name for name, holds in findings.items() if holds]


def as_json(results: Iterable[Result]) -> dict[str, Any]:
    """Return all numbers: in total, of the front end, and of each kind."""
    groups = _groups(results)
    total = _numbers(v for found in groups.values() for r in found for v in r.verdicts)
    kinds = {
        kind: _numbers(v for result in found for v in result.verdicts)
        for kind, found in groups.items()
    }
    return {**total, "kinds": kinds}


def _numbers(verdicts: Iterable[Verdict]) -> dict[str, Any]:
    from .scores import front_end_score, score

    verdicts = tuple(verdicts)
    ours, theirs = score(verdicts).as_json(), front_end_score(verdicts).as_json()
    return {**ours, "front_end": theirs}


def table(results: Iterable[Result]) -> str:
    """Return the numbers as a table, a row for each kind and one for all."""
    groups = _groups(results)
    groups["total"] = [result for found in groups.values() for result in found]
    rows: list[tuple[str, ...]] = [("kind", "programs", *_OURS, "|", *_THEIRS)]
    for kind, found in groups.items():
        numbers = _numbers(v for result in found for v in result.verdicts)
        ours = [str(numbers[name]) for name in _OURS]
        theirs = [str(numbers["front_end"][name]) for name in _THEIRS]
        rows.append((kind, str(len(found)), *ours, "|", *theirs))
    head = f"{'':59}| the front end's own handles"
    return "\n".join([head, *map(_row, rows)])


def _row(cells: Sequence[str]) -> str:
    name, *numbers = cells
    return f"{name:10}" + "".join(
        f" {cell}" if cell == "|" else f"{cell:>9}" for cell in numbers
    )


def _groups(results: Iterable[Result]) -> dict[str, list[Result]]:
    groups: dict[str, list[Result]] = {}
    for result in results:
        groups.setdefault(result.kind, []).append(result)
    return groups


if __name__ == "__main__":
    sys.exit(main())
