"""How does the cost of recording grow with the number of ops?

    python -m benchmarks.scaling 100 1000 10000

compiles a chain of as many ops while it is recorded and prints, for each size, the
microseconds of processor time per op: of each point at which recording observes the
compile, of attribution, of writing and reading the bundle, and of each report; and the
memory and the compressed bytes per op. The last column is the slope of the cost against
the size, both as logarithms, with its interval: 1 is linear. It exits with 3 where a
slope that has a limit is surely above it.

The front end's own compile is most of the time that this takes, and is not counted.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import sys
import time
import tracemalloc
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from attrs import asdict, frozen

from torch_spyre_provenance.analysis.attribution import Attributor
from torch_spyre_provenance.measuring.intervals import Interval, slope_interval
from torch_spyre_provenance.model import Bundle
from torch_spyre_provenance.report import html, markdown, mermaid
from torch_spyre_provenance.store import codec, read_bundle
from torch_spyre_provenance.store.bundle_dir import write_bundle

EXIT_STEEP = 3
SIZES = (100, 300, 1_000, 3_000, 10_000)
RECORDING, ATTRIBUTION = "recording", "attribution"
WRITING, READING = "writing", "reading"
LIMITED = (RECORDING, ATTRIBUTION, WRITING, READING)
"""Costs whose slope has a limit."""

MOST_SLOPE = 1.05


@frozen(kw_only=True)
class Figures:
    """What one compile and its bundle cost.

    Attributes:
        n_ops: Device ops in the bundle.
        seconds: Processor seconds by step: the least of the repeats, which is what the
            step costs when nothing else disturbs it.
        memory: Bytes that the bundle holds in memory.
        packed: Bytes of the bundle's file, compressed.
    """

    n_ops: int
    seconds: Mapping[str, float]
    memory: int
    packed: int


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table and return the exit code."""
    options = _parser().parse_args(arguments)
    if options.figures_of:
        print("\n".join(table(read_figures(Path(options.figures_of)))))
        return 0
    os.environ.setdefault("TORCHINDUCTOR_COMPILE_THREADS", "1")
    found = [
        measure(size, options.repeats)
        for size in sorted(options.sizes)
        for _ in range(options.compiles if size <= options.once_above else 1)
    ]
    print("\n".join(table(found)))
    if options.json:
        facts = [asdict(each) for each in found]
        Path(options.json).write_text(json.dumps(facts, indent=1) + "\n")
    steep = [step for step in LIMITED if slope(found, step).low > MOST_SLOPE]
    for step in steep:
        print(f"{step} grows faster than the ops", file=sys.stderr)
    return EXIT_STEEP if steep else 0


def read_figures(path: Path) -> list[Figures]:
    """Return the figures that ``--json`` wrote."""
    return [Figures(**each) for each in json.loads(path.read_bytes())]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="scaling", description=(__doc__ or "").partition("\n")[0]
    )
    parser.add_argument("sizes", nargs="*", type=int, default=list(SIZES))
    parser.add_argument("--compiles", type=int, default=3, help="of each size (3)")
    parser.add_argument("--repeats", type=int, default=5, help="of each step (5)")
    parser.add_argument(
        "--once-above",
        type=int,
        default=1_000,
        metavar="N",
        help="larger sizes are compiled once (1000)",
    )
    parser.add_argument("--json", metavar="FILE", help="write all figures there")
    parser.add_argument(
        "--from",
        dest="figures_of",
        metavar="FILE",
        help="measure nothing: print the table of the figures in a file",
    )
    return parser


def measure(n_ops: int, repeats: int) -> Figures:
    """Compile a chain of ops while it is recorded, and measure what follows.

    Args:
        n_ops: Length of the chain.
        repeats: Repeats of each step after the compile.
    """
    with TemporaryDirectory(prefix="spyre-scaling-") as scratch:
        work = Path(scratch)
        bundle, path, spent = record_chain(n_ops, work)
        seconds = {f"{RECORDING}: {point}": cost for point, cost in spent.items()}
        steps: dict[str, Callable[[], object]] = {
            ATTRIBUTION: lambda: Attributor(bundle).attributions,
            WRITING: lambda: write_bundle(work, bundle, {}),
            READING: lambda: read_bundle(path),
            "report.md": lambda: markdown.render(bundle),
            "page": lambda: html.render(bundle),
            "mermaid": lambda: mermaid.render_facts(Attributor(bundle)),
        }
        seconds[RECORDING] = sum(seconds.values())
        for name, step in steps.items():
            seconds[name] = min(_seconds(step) for _ in range(repeats))
        data = codec.dumps(bundle)
        return Figures(
            n_ops=len(bundle.ops),
            seconds=seconds,
            memory=_memory(data),
            packed=len(zlib.compress(data)),
        )


def record_chain(n_ops: int, work: Path) -> tuple[Bundle, Path, dict[str, float]]:
    """Compile a chain of ops while it is recorded.

    Args:
        n_ops: Its length.
        work: Directory for the model's file and the bundle.

    Returns:
        The bundle, its directory, and the processor seconds by observation point.
    """
    import torch
    from torch._inductor.utils import fresh_cache

    from torch_spyre_provenance.activation import record
    from torch_spyre_provenance.recording.points import Point
    from torch_spyre_provenance.recording.stack_room import COMPILE_ROOM, with_room

    scope: dict[str, Callable[..., object]] = {}
    file = work / "chain.py"
    file.write_text(chain(n_ops))
    exec(compile(file.read_text(), str(file), "exec"), scope)  # noqa: S102  our text
    torch._dynamo.reset()  # noqa: SLF001  its name
    with fresh_cache(), record(out=work / "bundles", strict=True) as recording:
        before = recording.spent()
        x = torch.ones(2, 64).half().to("spyre")
        with torch.no_grad():
            with_room(COMPILE_ROOM)(torch.compile(scope["chain"]))(x, x)
        spent = recording.spent()
    (done,) = recording.bundles
    if done.path is None:
        raise RuntimeError("the bundle was not written")
    within = {Point.FILES, Point.PUBLISH, Point.RENDER}  # of another, or after it all
    return (
        done.bundle,
        done.path,
        {
            str(point): cost - before.get(point, 0.0)
            for point, cost in spent.items()
            if point not in within
        },
    )


def chain(n_ops: int) -> str:
    """Return a function of as many ops, each on a line of its own."""
    rows = [f"    x = {('x + y', 'x * y')[n % 2]}" for n in range(n_ops)]
    return "\n".join(("def chain(x, y):", *rows, "    return x", ""))


def _seconds(step: Callable[[], object]) -> float:
    gc.collect()
    start = time.process_time()
    step()
    return time.process_time() - start


def _memory(data: bytes) -> int:
    """Return the bytes that a bundle keeps allocated once it is read."""
    gc.collect()
    tracemalloc.start()
    try:
        bundle = codec.loads(data)
        gc.collect()
        held, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    del bundle
    return held


def slope(found: Sequence[Figures], step: str) -> Interval:
    """Return the slope of a step's cost against the number of ops, as logarithms."""
    points = [(each.n_ops, each.seconds[step]) for each in found if each.seconds[step]]
    return slope_interval(points)


def table(found: Sequence[Figures]) -> Iterator[str]:
    """Yield the rows of the table; cells are microseconds per op, or bytes per op."""
    sizes = sorted({each.n_ops for each in found})
    yield f"| per op | {' | '.join(f'{size:,} ops' for size in sizes)} | slope |"
    yield f"| {' | '.join(['---'] * (len(sizes) + 2))} |"
    for step in found[0].seconds:
        cells = [
            min(1e6 * each.seconds[step] / size for each in found if each.n_ops == size)
            for size in sizes
        ]
        steep = slope(found, step)
        text = " | ".join(f"{cell:.1f} µs" for cell in cells)
        yield (
            f"| {step} | {text} "
            f"| {steep.value:.2f} ({steep.low:.2f} to {steep.high:.2f}) |"
        )
    for name in ("memory", "packed"):
        by_size = {each.n_ops: getattr(each, name) for each in found}
        text = " | ".join(f"{by_size[size] / size:,.0f} B" for size in sizes)
        yield f"| {name} | {text} | |"


if __name__ == "__main__":
    sys.exit(main())
