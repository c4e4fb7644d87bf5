"""Large traces: the work grows with kernels and events, not with their product."""

from __future__ import annotations

import time

from report.many_ops import many_ops

from torch_spyre_provenance.analysis.attribution import Attributor
from torch_spyre_provenance.analysis.recorded import Recorded
from torch_spyre_provenance.analysis.timing import Share, measure_times
from torch_spyre_provenance.analysis.trace import join
from torch_spyre_provenance.model.trace import Trace, TraceEvent

SIZES = (4, 1_000)
"""Ops of a bundle with one small kernel, and of one with four large ones."""


def trace(n_launches: int, names: list[str]) -> Trace:
    """Return a trace of many launches of some kernels."""
    return Trace(
        events=tuple(
            TraceEvent(
                index=n,
                name=f"launch_jobplan:{names[n % len(names)]}",
                start_ns=n * 10,
                duration_ns=9,
            )
            for n in range(n_launches)
        )
    )


def cpu_seconds(recorded: Recorded, n_launches: int) -> float:
    """Return the least CPU time of three rounds, the bundle's attribution apart."""
    names = [kernel.name for kernel in recorded.facts.bundle.kernels]
    launches, rounds = trace(n_launches, names), []
    for _ in range(3):
        start = time.process_time()
        joined = join(launches, [recorded])
        times = measure_times(joined, Share.ITERATIONS)
        rounds.append(time.process_time() - start)
        assert times.total.events == n_launches
    return min(rounds)


def test_launches_do_not_cost_their_kernels_ops_again():
    """Launches of kernels of 250 ops cost about as much as those of small ones."""
    small, large = (Recorded(name="b", facts=Attributor(many_ops(n))) for n in SIZES)
    sizes = [len(each.facts.bundle.kernels[0].ops) for each in (small, large)]
    assert sizes == [4, 250]
    assert large.attributions
    assert small.attributions

    assert cpu_seconds(large, 10_000) < 3 * cpu_seconds(small, 10_000)
