"""A small Spyre front end on Inductor's registered extension points.

It makes a `spyre` device on host memory, compiles for it in torch-spyre's forms, and
runs the result on the host. It is not an emulator of the chip: it shows what a compile
does, and checks that the specs describe the computation.
"""

from __future__ import annotations

import threading

from torch._inductor.codegen.common import register_backend_for_device

from ..contract import DEVICE, FrontEnd
from ..host.device import activate

NAME = "reference"

_lock = threading.Lock()


def load() -> FrontEnd:
    """Make the device known to torch and return the front end.

    Raises:
        DeviceTakenError: Another PrivateUse1 backend is registered in this process.
    """
    with _lock:
        activate()
        return _front_end()


def register() -> None:
    """Register the front end for the device, without any recording.

    Raises:
        DeviceTakenError: Another PrivateUse1 backend is registered in this process.
    """
    from .fx_passes import Chain

    front_end = load()
    passes = [p for p in (front_end.fx_pass, front_end.lowering_pass) if p is not None]
    register_backend_for_device(
        DEVICE,
        front_end.scheduling,
        front_end.wrapper,
        device_custom_pass=Chain(*passes),
        device_custom_config=front_end.config,
    )


def _front_end() -> FrontEnd:
    from . import composites, config, lowering
    from .fx_passes import FxPass, LoweringPass
    from .passes import OBSERVERS
    from .scheduling import SuperDSCScheduling
    from .wrapper import SpyrePythonWrapperCodegen

    composites.register()
    lowering.register()
    return FrontEnd(
        name=NAME,
        scheduling=SuperDSCScheduling,
        wrapper=SpyrePythonWrapperCodegen,
        async_compile=f"{__name__}.async_compile:SpyreAsyncCompile",
        config=config,
        fx_pass=FxPass(),
        lowering_pass=LoweringPass(),
        pass_observers=OBSERVERS,
    )
