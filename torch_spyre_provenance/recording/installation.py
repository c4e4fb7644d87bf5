"""Installing a recording: what is registered for it, and taken back after it."""

from __future__ import annotations

import atexit
import sys
import threading
from typing import Any

from torch._dynamo.callback import callback_handler
from torch._inductor import config
from torch._inductor.codegen.common import register_backend_for_device

from ..frontends.contract import DEVICE, FrontEnd
from . import compat, partition
from .current import current_session, set_current
from .pass_observer import observe_pass
from .passes import OPTIONS, device_pass
from .scheduling import provenance_scheduling
from .session import Session
from .wrapper import provenance_wrapper

_lock = threading.RLock()


def install(session: Session) -> None:
    """Make a recording the active one, in the place of any other.

    Nothing of torch or of the front end is replaced. What changes is the device's
    registration, five options of Inductor's config module, and the lists of Dynamo's
    compile callbacks and of the front end's pass observers.
    """
    with _lock:
        uninstall()
        if session.front_end is not None:
            _register_recording(session.front_end)
            if session.front_end.pass_observers is not None:
                session.front_end.pass_observers.append(observe_pass)
        _set_options()
        session.keep_callbacks = _add_callbacks
        _add_callbacks()
        set_current(session)
        atexit.register(session.finish)


def uninstall() -> None:
    """End the active recording, if there is one: back to the plain registration.

    Its reports are written.
    """
    with _lock:
        session = current_session()
        if session is None:
            return
        set_current(None)
        _remove_callbacks()
        config.load_config(
            {
                name: compat.without_pass(getattr(config, name), own)
                for name, own in OPTIONS.items()
            }
            | {partition.OPTION: partition.without_watch(_partitioner())}
        )
        if session.front_end is not None:
            register_plain(session.front_end)
            if session.front_end.pass_observers is not None:
                session.front_end.pass_observers.remove(observe_pass)
    atexit.unregister(session.finish)
    session.finish()


def register_plain(front_end: FrontEnd) -> None:
    """Register a front end for its device without any recording."""
    register_backend_for_device(
        DEVICE,
        front_end.scheduling,
        front_end.wrapper,
        device_custom_pass=front_end.plain_pass(),
        device_custom_config=front_end.config,
    )


def _register_recording(front_end: FrontEnd) -> None:
    scheduling: Any = front_end.scheduling
    wrapper: Any = front_end.wrapper
    register_backend_for_device(
        DEVICE,
        provenance_scheduling(scheduling),
        provenance_wrapper(wrapper),
        device_custom_pass=device_pass(front_end),
        device_custom_config=front_end.config,
    )


def _add_callbacks() -> None:
    """Register the compile callbacks, unless they are: a Dynamo reset drops them."""
    if _set_options not in callback_handler.start_callbacks:
        callback_handler.register_start_callback(_set_options)
    if _compile_ended not in callback_handler.end_callbacks:
        callback_handler.register_end_callback(_compile_ended)


def _remove_callbacks() -> None:
    if _set_options in callback_handler.start_callbacks:
        callback_handler.remove_start_callback(_set_options)
    if _compile_ended in callback_handler.end_callbacks:
        callback_handler.remove_end_callback(_compile_ended)


def _set_options(_: object = None) -> None:
    """Set the options as a compile starts: torch ≥ 2.13 keeps them for each thread."""
    options = {
        name: compat.with_pass(getattr(config, name), own)
        for name, own in OPTIONS.items()
    }
    options[partition.OPTION] = partition.with_watch(_partitioner())
    config.load_config({**options, **compat.run_pre_grad_passes_early()})


def _partitioner() -> Any:
    return getattr(config, partition.OPTION)


def _compile_ended(_: object) -> None:
    """Log what waited for the end, and publish what a broken compile had recorded."""
    session = current_session()
    if session is not None:
        session.trace_log.compile_ended(session.guard)
        session.abandon(sys.exc_info()[1])
