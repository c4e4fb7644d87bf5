"""Sums of a trace's time: by kernel, by line, by module."""

from __future__ import annotations

from attrs import evolve
from bundle_factory import bundle, fx, ir, kernel, lines, spec
from hypothesis import given
from hypothesis import strategies as st

from torch_spyre_provenance.analysis.attribution import Attributor
from torch_spyre_provenance.analysis.recorded import Recorded
from torch_spyre_provenance.analysis.timing import (
    Place,
    Share,
    Spent,
    measure_times,
)
from torch_spyre_provenance.analysis.trace import Clock, Joined, join
from torch_spyre_provenance.model import Dim, Op
from torch_spyre_provenance.model.trace import Trace, TraceEvent

KERNEL = "sdsc_fused_0"
FILE = "/models/model.py"


def sized(number: int, *extents: str) -> Op:
    """Return an op with an iteration space."""
    dims = (Dim(symbol=f"c{n}", extent=e, split=1) for n, e in enumerate(extents))
    return evolve(spec(number), iteration_space=tuple(dims))


def events(ops: list[Op], *durations: int, category: str = "") -> tuple[Joined, ...]:
    """Return launches of one kernel.

    Its ops have a line and a layer each, but for the last one, which has neither.
    """
    numbers = range(len(ops))
    value = bundle(
        stacks=lines(*(10 + n for n in numbers)),
        post=tuple(
            fx(f"p{n}", "aten.add.Tensor", stack=n, module=f"layers.{n}")
            for n in numbers[:-1]
        ),
        ir_post=tuple(ir(n, *([f"p{n}"] if n < len(ops) - 1 else [])) for n in numbers),
        kernels=(kernel(*ops, name=KERNEL),),
    )
    trace = Trace(
        events=tuple(
            TraceEvent(
                index=n, name=KERNEL, start_ns=0, duration_ns=ns, category=category
            )
            for n, ns in enumerate(durations)
        )
    )
    return join(trace, [Recorded(name="b", facts=Attributor(value))])


def host(n_events: int, ns: int) -> Spent:
    """Return time of the host."""
    return Spent(events=n_events, host_ns=ns, device_ns=0)


def test_time_is_shared_by_the_size_of_the_ops():
    """Twelve iterations of sixteen are three quarters of the kernel's time."""
    joined = events([sized(0, "3", "4"), sized(1, "2"), sized(2, "2")], 1600, 160)
    times = measure_times(joined, Share.ITERATIONS)

    assert list(times.kernels.values()) == [host(2, 1760)]
    assert times.lines == {
        Place(file=FILE, line=10): host(2, 1320),
        Place(file=FILE, line=11): host(2, 220),
        Place(): host(2, 220),
    }
    assert times.fell_back == ()


def test_modules_have_the_time_of_those_inside():
    """Each level of the tree; the root has all."""
    joined = events([sized(0, "3"), sized(1, "1"), sized(2, "1")], 500)
    times = measure_times(joined, Share.ITERATIONS)

    assert times.modules == {
        "layers.0": host(1, 300),
        "layers.1": host(1, 100),
        "": host(1, 100),
    }
    assert times.inside == {
        "": host(1, 500),
        "layers": host(1, 400),
        "layers.0": host(1, 300),
        "layers.1": host(1, 100),
    }


def test_time_can_be_shared_evenly():
    """Each op has the same, whatever its size."""
    joined = events([sized(0, "3", "4"), sized(1, "2")], 100)
    times = measure_times(joined, Share.OPS)

    assert [spent.host_ns for spent in times.lines.values()] == [50, 50]


def test_a_symbolic_size_falls_back_and_is_named():
    """What cannot be weighed is shared evenly; the result says for which kernels."""
    joined = events([sized(0, "s0", "4"), sized(1, "2")], 100)
    times = measure_times(joined, Share.ITERATIONS)

    assert [spent.host_ns for spent in times.lines.values()] == [50, 50]
    assert times.fell_back == (KERNEL,)


def test_the_clocks_are_kept_apart():
    """The launch of a kernel and its run are not added up."""
    ops = [sized(0, "1"), sized(1, "1")]
    joined = events(ops, 10) + events(ops, 40, category="kernel")
    times = measure_times(joined, Share.OPS)

    assert [each.clock for each in joined] == [Clock.HOST, Clock.DEVICE]
    assert times.total == Spent(events=2, host_ns=10, device_ns=40)


def test_what_was_not_joined_has_its_time_by_reason():
    """It is in no sum but its own."""
    (joined,) = events([sized(0, "1")], 70)
    lost = evolve(joined, kernel=None, reason="unknown")
    times = measure_times([joined, lost], Share.OPS)

    assert times.unjoined == {"unknown": host(1, 70)}
    assert times.total == host(1, 70)


def test_a_kernel_without_ops_has_no_line():
    """Its time is not lost."""
    joined = events([], 30, 40)
    times = measure_times(joined, Share.ITERATIONS)

    assert times.lines == {Place(): host(2, 70)}
    assert times.modules == times.inside == {"": host(2, 70)}


@given(
    st.lists(st.integers(1, 1000), min_size=1, max_size=6),
    st.lists(st.integers(0, 10**12), min_size=1, max_size=3),
    st.sampled_from(Share),
)
def test_shares_add_up_to_the_nanosecond(sizes, durations, method):
    """No rounding loses or makes time, however it is divided."""
    ops = [sized(n, str(size)) for n, size in enumerate(sizes)]
    times = measure_times(events(ops, *durations), method)

    for rows in (times.kernels, times.lines, times.modules):
        assert sum(spent.host_ns for spent in rows.values()) == sum(durations)
    assert times.inside[""].host_ns == times.total.host_ns == sum(durations)
