"""Room on the interpreter's stack.

CPython keeps a thread's frames in chunks of 16 KiB. It maps a chunk where the next call
does not fit into the last one, and unmaps it as that call returns: a loop that happens
to stand near the end of a chunk pays for a new mapping and its page faults with each of
its calls, many times what the call itself costs. Where the end of a chunk lies is up to
the size of all frames further out, those of the user's program too.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from types import FunctionType
from typing import Any, ParamSpec, TypeVar

_P = ParamSpec("_P")
_R = TypeVar("_R")
_SLOT = 8
"""Bytes of one entry of a frame."""

RECORDER_ROOM = 1 << 15
"""Bytes that are ample for the calls of an observation."""

COMPILE_ROOM = 1 << 20
"""Bytes that are ample for the calls of a compile."""


def with_room(room: int) -> Callable[[Callable[_P, _R]], Callable[_P, _R]]:
    """Return a decorator for functions whose own calls are to find room in one chunk.

    Args:
        room: Bytes of the room, a power of two and no less than a chunk.
    """
    call = _caller(room)

    def decorated(function: Callable[_P, _R]) -> Callable[_P, _R]:
        @wraps(function)
        def roomy(*args: _P.args, **kwargs: _P.kwargs) -> _R:
            result: _R = call(function, args, kwargs)
            return result

        return roomy

    return decorated


def _caller(room: int) -> FunctionType:
    """Return a function that calls another one, from a frame as large as `room`.

    A frame that is larger than a chunk gets one of its own, of the next power of two
    that holds it and a few words more: nearly as much again is left for what it calls.
    What is never used of that is never touched, and costs nothing.
    """
    code = _call.__code__.replace(co_stacksize=room // _SLOT)
    return FunctionType(code, globals())


def _call(function: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    return function(*args, **kwargs)
