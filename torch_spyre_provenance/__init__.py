"""Source-to-kernel provenance, built into the compile.

    with torch_spyre_provenance.record(out="audit") as recording:
        torch.compile(model)(inputs)
    recording.bundles[0].path  # the bundle's directory

Importing this package imports neither torch nor anything else of weight.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .activation import disable, enable, record
    from .errors import BundleFormatError, ProvenanceError
    from .model import Bundle
    from .store import read_bundle as load
    from .testing import assert_attributed

__all__ = [
    "Bundle",
    "BundleFormatError",
    "ProvenanceError",
    "assert_attributed",
    "disable",
    "enable",
    "load",
    "record",
]

_LAZY = {
    "Bundle": ("model", "Bundle"),
    "BundleFormatError": ("errors", "BundleFormatError"),
    "ProvenanceError": ("errors", "ProvenanceError"),
    "assert_attributed": ("testing", "assert_attributed"),
    "disable": ("activation", "disable"),
    "enable": ("activation", "enable"),
    "load": ("store", "read_bundle"),
    "record": ("activation", "record"),
}


def __getattr__(name: str) -> Any:
    """Import a public name on its first use."""
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    module, attribute = _LAZY[name]
    value = getattr(import_module(f"{__name__}.{module}"), attribute)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """Return the public names."""
    return list(__all__)
