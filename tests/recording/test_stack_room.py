"""Room on the stack: what a call costs is not up to the frames around it."""

from __future__ import annotations

import resource

import pytest

from torch_spyre_provenance.recording.stack_room import RECORDER_ROOM, with_room

N_CALLS = 200
CHUNK = 16 * 1024


def leaf(number):
    """Return what is one more."""
    return number + 1


def many_calls():
    """Call a function many times, from one frame."""
    for number in range(N_CALLS):
        leaf(number)


def at_depth(depth, function):
    """Call a function from so many frames further in."""
    if depth:
        at_depth(depth - 1, function)
    else:
        function()


def faults(depth, function):
    """Return the page faults of a call at a depth, the fewest of three."""
    found = []
    for _ in range(3):
        before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
        at_depth(depth, function)
        found.append(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
    return min(found)


def depths():
    """Return depths that lie in one chunk of the stack, and in the one after it."""
    return range(2 * CHUNK // 64)


def test_a_loop_at_the_end_of_a_chunk_is_what_room_is_for():
    """Without room there is a depth at which each call of a loop maps a page."""
    assert max(faults(depth, many_calls) for depth in depths()) >= N_CALLS


def test_with_room_no_depth_is_worse_than_another():
    """A few pages for the room itself are all."""
    roomy = with_room(RECORDER_ROOM)(many_calls)
    assert max(faults(depth, roomy) for depth in depths()) < N_CALLS / 10


def test_a_function_with_room_is_the_same_function():
    """Arguments, the result, the name and what is raised go through."""

    @with_room(RECORDER_ROOM)
    def divide(one, *, by):
        """Divide."""
        return one / by

    assert divide(6, by=3) == 2
    assert (divide.__name__, divide.__doc__) == ("divide", "Divide.")
    with pytest.raises(ZeroDivisionError):
        divide(1, by=0)
