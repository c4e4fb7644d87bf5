"""An unmodified, never built torch-spyre checkout as a front end, without a card.

Stand-ins take the place of what is not there: torch-spyre's C extension, the backend
compiler's command, and the card. They replace nothing that is. Everything up to the
SuperDSC files is torch-spyre's own work; launching a kernel raises.
"""

from __future__ import annotations

import sys
import threading
from pathlib import Path

import torch
from torch.torch_version import TorchVersion

from ...errors import FrontEndError
from .. import torch_spyre as adapter
from ..contract import FrontEnd
from ..host.device import check_free, register_runtime
from . import extension, kernels
from .checkout import (
    BACKEND_COMPILER,
    EXTENSION,
    PACKAGE,
    Checkout,
    find_checkout,
    make_importable,
    provide_backend_compiler,
)

NAME = "torch-spyre-cardless"

_lock = threading.Lock()
_loaded: dict[Path, FrontEnd] = {}
_registrations: list[torch.library.Library] = []


def load(path: Path) -> FrontEnd:
    """Make a checkout's front end the one of this process.

    Args:
        path: The checkout's root.

    Returns:
        The front end; the same one when the same checkout is loaded again.

    Raises:
        FrontEndError: The path is no checkout, or a built one; torch-spyre was imported
            before; the device is taken; or torch-spyre does not import.
    """
    checkout = find_checkout(Path(path))
    with _lock:
        if checkout.root not in _loaded:
            _check_process(checkout)
            _loaded[checkout.root] = _load(checkout)
        return _loaded[checkout.root]


def needs_host_copies() -> bool:
    """Return whether this torch needs a host kernel for copies; see `kernels`."""
    return TorchVersion(torch.__version__) >= TorchVersion("2.13")


def _check_process(checkout: Checkout) -> None:
    before = sys.modules.get(PACKAGE)
    if before is not None:
        message = (
            f"{PACKAGE} was imported before, from {getattr(before, '__path__', '?')}: "
            f"load {checkout.root} in a process that has not imported it"
        )
        raise FrontEndError(message)
    check_free()


def _load(checkout: Checkout) -> FrontEnd:
    make_importable(checkout, extension)
    adapter.import_package(checkout.package)
    adapter.import_extension()
    compiler = provide_backend_compiler()
    register_runtime()
    _registrations.append(kernels.register())
    adapter.run_autoload()
    stand_ins = [EXTENSION]
    if needs_host_copies():
        _registrations.append(kernels.register_copies())
        stand_ins.append("aten::_copy_from")
    return adapter.adapt(
        name=NAME,
        versions=(
            ("torch-spyre", checkout.commit() or f"checkout at {checkout.root}"),
            ("stand-ins", ", ".join(stand_ins)),
            (BACKEND_COMPILER, compiler),
        ),
    )
