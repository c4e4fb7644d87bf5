"""The `torch.backends` entry point: torch calls it at the end of its own import."""

from __future__ import annotations

import os
import warnings


def autoload() -> None:
    """Start recording if the environment asks for it; otherwise do nothing at all.

    Whatever is wrong with the environment, torch's own import succeeds.
    """
    asked = os.environ.get("TORCH_SPYRE_PROVENANCE", "") not in ("", "0")
    if not asked and "TORCH_SPYRE_PROVENANCE_FRONTEND" not in os.environ:
        return
    from .errors import ProvenanceError

    try:
        # Within: a bound on what is read may itself mean nothing.
        from . import activation

        activation.start_from_environment()
    except ProvenanceError as error:
        warnings.warn(f"provenance is off: {error}", RuntimeWarning, stacklevel=2)
