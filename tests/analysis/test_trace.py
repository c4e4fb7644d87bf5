"""Joining events of a trace to kernels: by what, and when not."""

from __future__ import annotations

import pytest
from attrs import evolve
from bundle_factory import bundle, fx, handle, ir, kernel, lines, run_facts, sdsc, spec

from torch_spyre_provenance.analysis.attribution import Attributor
from torch_spyre_provenance.analysis.recorded import Recorded, lend_keys
from torch_spyre_provenance.analysis.trace import Clock, Clue, join
from torch_spyre_provenance.model import Bundle, CompileKind, KernelFiles
from torch_spyre_provenance.model.trace import Trace, TraceEvent

KERNEL = "sdsc_fused_add_0"
KEY = "abcdefgh234567yz"
PROCESS = "4711"


def compiled(number: int = 0, n_ops: int = 1, **run: object) -> Recorded:
    """Return a compile of its own lines, whose one kernel is called as every other."""
    numbers = range(n_ops)
    first = 10 * (number + 1)
    value = bundle(
        stacks=lines(*(first + n for n in numbers)),
        post=tuple(fx(f"add_{n}", "aten.add.Tensor", stack=n) for n in numbers),
        ir_post=tuple(ir(n, f"add_{n}") for n in numbers),
        kernels=(
            kernel(
                *(
                    spec(n, handle=handle(f"add_{n}", f"buf{n}", start_line=first + n))
                    for n in numbers
                ),
                name=KERNEL,
            ),
        ),
        run=run_facts(
            f"{number}_inference",
            KernelFiles(
                kernel=KERNEL, directory=f"/cache/c{number}_{KERNEL}_x", sdsc=(sdsc(0),)
            ),
        ),
    )
    facts = {"compile_id": f"0/{number}", **run}
    return recorded_as(evolve(value, run=evolve(value.run, **facts)), f"b{number}")


def recorded_as(value: Bundle, name: str) -> Recorded:
    """Return a bundle as one of those that a trace is joined to."""
    return Recorded(name=name, facts=Attributor(value))


def event(name: str = f"launch_jobplan:{KERNEL}", **parts: object) -> TraceEvent:
    """Return an event of the host, a microsecond long."""
    plain = {"index": 0, "start_ns": 5_000, "duration_ns": 1_000, "process": PROCESS}
    return TraceEvent(name=name, **{**plain, "category": "user_annotation", **parts})


def region(name: str, **parts: object) -> TraceEvent:
    """Return an event that lies around the others."""
    around = {"index": 90, "start_ns": 0, "duration_ns": 90_000}
    return event(name, **{**around, "category": "cpu_op", **parts})


def found(events: list[TraceEvent], *compiles: Recorded) -> tuple[str | None, ...]:
    """Return the compile that each of our events was joined to."""
    joined = join(Trace(events=tuple(events)), compiles)
    return tuple(each.kernel and each.kernel.recorded.name for each in joined)


def test_an_event_is_joined_by_its_kernels_name():
    """As torch-spyre and the reference front end mark a launch."""
    (joined,) = join(Trace(events=(event(),)), [compiled()])

    assert (joined.kernel.kernel.name, joined.clock) == (KERNEL, Clock.HOST)
    assert joined.clues == (Clue.NAME,)
    assert [op.locations[0].where for op in joined.kernel.ops] == [
        "/models/model.py:10"
    ]


@pytest.mark.parametrize("name", [f"launch_kernel:{KERNEL}", KERNEL, f"{KERNEL}"])
def test_other_releases_mark_launches_otherwise(name: str):
    """An older release, and a bare name."""
    assert found([event(name)], compiled()) == ("b0",)


def test_operators_of_the_host_are_no_kernels():
    """They are neither joined nor counted as missed."""
    assert found([event("aten::add", category="cpu_op")], compiled()) == ()


def test_the_compiled_region_tells_compiles_apart():
    """Two compiles have a kernel of one name; Dynamo's id is around the launch."""
    events = [region("Torch-Compiled Region: 0/1"), event()]
    (joined,) = join(Trace(events=tuple(events)), [compiled(0), compiled(1)])

    assert joined.kernel.recorded.name == "b1"
    assert joined.clues == (Clue.NAME, Clue.REGION)


def test_the_innermost_region_counts():
    """A compiled function may call another one."""
    outer = region("Torch-Compiled Region: 0/0")
    inner = region("Torch-Compiled Region: 0/1", index=91, start_ns=10, duration_ns=80)
    events = [outer, inner, event(start_ns=20, duration_ns=5)]

    assert found(events, compiled(0), compiled(1)) == ("b1",)
    assert found([outer, inner, event()], compiled(0), compiled(1)) == ("b0",)


def test_a_region_of_another_thread_says_nothing():
    """What surrounds an event is on its own thread."""
    events = [region("Torch-Compiled Region: 0/1", thread="2"), event(thread="1")]

    assert found(events, compiled(0), compiled(1)) == (None,)


def test_a_backward_graph_is_told_from_its_forward():
    """They have one compile id; autograd's node is around the backward's launches."""
    forward, backward = compiled(0), compiled(1, compile_id="0/0")
    value = backward.facts.bundle
    kind = evolve(value.compile, kind=CompileKind.BACKWARD)
    backward = recorded_as(evolve(value, compile=kind), "backward")
    inside = region("Torch-Compiled Region: 0/0")
    after = region("CompiledFunctionBackward")

    assert found([inside, event()], forward, backward) == ("b0",)
    assert found([after, event()], forward, backward) == ("backward",)


def test_another_compile_of_the_process_is_no_match():
    """The one kernel of that name is not the one that ran: no line, and a reason."""
    events = (region("Torch-Compiled Region: 0/7"), event())
    (joined,) = join(Trace(events=events), [compiled(0)])

    assert joined.kernel is None
    assert joined.reason == (
        "it ran in compile 0/7, whose bundle is not among those given"
    )


def test_ids_of_another_process_do_not_count_against_a_match():
    """The trace may be of a later run, which compiled in another order."""
    events = [region("Torch-Compiled Region: 0/7"), event()]

    assert found(events, compiled(0, pid=1)) == ("b0",)


def test_processes_and_ranks_tell_compiles_apart():
    """Each rank compiles the same names for itself."""
    compiles = (compiled(0, pid=1, rank=0), compiled(1, pid=2, rank=1))
    on_rank = Trace(events=(event(process="7"),), rank=1)

    assert found([event(process="2")], *compiles) == ("b1",)
    assert [each.kernel.recorded.name for each in join(on_rank, compiles)] == ["b1"]


def test_the_directory_is_one_to_one():
    """torch-spyre's token of a bundle directory decides, whatever the name is."""
    keyed = event(f"spyre_kernel_v1_fused_add_{KEY}#3", directory="c1_")

    assert found([keyed], compiled(0), compiled(1)) == ("b1",)


def test_the_key_needs_a_sidecar_that_has_it():
    """With one, the key of the event's name is enough; without, the reason says so."""
    name = f"spyre_kernel_v1_fused_add_mul_{KEY}#0"
    with_keys = evolve(compiled(1), keys={KERNEL: KEY})
    (joined,) = join(Trace(events=(event(name),)), [compiled(0), with_keys])
    (unknown,) = join(Trace(events=(event(name),)), [compiled(0)])

    assert (joined.kernel.recorded.name, joined.clues) == ("b1", (Clue.KEY,))
    assert unknown.reason.startswith(f"no bundle has a kernel with the key {KEY};")


def test_a_sidecar_lends_its_keys():
    """To the kernel of the same name and handles, which knows more than the sidecar."""
    sidecar = evolve(compiled(1), name="sidecar", keys={KERNEL: KEY})
    event_ = event(f"spyre_kernel_v1_fused_add_{KEY}")
    alone = lend_keys([compiled(0)], [sidecar])
    both = lend_keys([compiled(0), compiled(1)], [sidecar])

    assert [each.name for each in alone] == ["b0", "sidecar"]
    assert [each.name for each in both] == ["b0", "b1"]
    assert (found([event_], *alone), found([event_], *both)) == (("sidecar",), ("b1",))


def test_handles_of_all_ops_name_a_kernel():
    """All of them: one handle may be in several kernels."""
    two = compiled(1, n_ops=2)
    ids = tuple(two.handles[KERNEL])
    name = f"spyre_kernel_v1_fused_add_{KEY}"

    assert found([event(name, handles=ids)], compiled(0), two) == ("b1",)
    assert found([event(name, handles=ids[:1])], compiled(0), two) == (None,)


def test_a_directory_is_no_prefix_of_a_longer_number():
    """Kernel 1 of a bundle that was not given is not kernel 10 of one that was."""
    keyed = event(f"spyre_kernel_v1_fused_add_{KEY}#3", directory="/cache/c1")

    assert found([keyed], compiled(10)) == (None,)
    assert found([keyed], compiled(1), compiled(10)) == ("b1",)


def test_same_handles_in_two_kernels_are_told_apart_by_the_directory():
    """The same op for other shapes has the same handles, in another directory."""
    value = compiled(0).facts.bundle
    ids = tuple(compiled(0).handles[KERNEL])
    other = evolve(
        value,
        kernels=tuple(evolve(each, metadata="other shapes") for each in value.kernels),
        run=evolve(
            value.run,
            files=(KernelFiles(kernel=KERNEL, directory="/cache/other", sdsc=()),),
        ),
    )
    compiles = (compiled(0), recorded_as(other, "other"))

    assert found([event(handles=ids)], *compiles) == (None,)
    assert found([event(handles=ids, directory="other")], *compiles) == ("other",)


def test_kernels_that_do_not_differ_are_one():
    """A cache hit has the very kernel of the compile: either bundle will do."""
    (joined,) = join(Trace(events=(event(),)), [compiled(0), compiled(0)])

    assert joined.clues == (Clue.NAME, Clue.EQUAL)


def test_what_fits_several_is_joined_to_none():
    """No line is better than a wrong one, and the reason names the bundles."""
    (joined,) = join(Trace(events=(event(),)), [compiled(0), compiled(1)])

    assert joined.kernel is None
    assert joined.reason == "2 kernels fit, in each of b0, b1"


@pytest.mark.parametrize(
    ("name", "category", "reason"),
    [
        ("launch_jobplan:x", "user_annotation", "no bundle has a kernel called x"),
        ("memcpy", "kernel", "no bundle has a kernel called memcpy"),
    ],
)
def test_every_kernel_event_has_a_reason(name: str, category: str, reason: str):
    """Whatever the device ran is counted, also where nothing is known of it."""
    (joined,) = join(Trace(events=(event(name, category=category),)), [compiled()])

    assert joined.reason == reason


def test_unknown_handles_are_a_reason():
    """They are those of another compile."""
    (joined,) = join(Trace(events=(event("x", handles=("1",)),)), [compiled()])

    assert joined.reason == "no bundle has a kernel with these debug_handle ids"


def test_an_event_of_the_device_follows_its_launch():
    """The launch lies in a region of the host; both have the same external id."""
    events = [
        event(KERNEL, index=0, category="kernel", external_id="8", process="0"),
        region("Torch-Compiled Region: 0/1"),
        event(index=2, external_id="8"),
    ]
    joined = join(Trace(events=tuple(events)), [compiled(0), compiled(1)])

    assert [each.kernel.recorded.name for each in joined] == ["b1", "b1"]
    assert [each.clock for each in joined] == [Clock.DEVICE, Clock.HOST]
    assert joined[0].clues == (Clue.NAME, Clue.LAUNCH)


def test_a_mirror_of_the_hosts_mark_counts_once():
    """The profiler draws annotations on the device's rows too."""
    assert found([event(category="gpu_user_annotation")], compiled()) == ()
