"""The environment variables, read in one place."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from attrs import frozen

from .errors import SettingError

SWITCH = "TORCH_SPYRE_PROVENANCE"
DIRECTORY = "TORCH_SPYRE_PROVENANCE_DIR"
FRONT_END = "TORCH_SPYRE_PROVENANCE_FRONTEND"
CARDLESS = "TORCH_SPYRE_PROVENANCE_CARDLESS"
STRICT = "TORCH_SPYRE_PROVENANCE_STRICT"

FRONT_ENDS = ("reference", "torch-spyre")


@frozen(kw_only=True)
class Settings:
    """What the environment asks for.

    Attributes:
        enabled: Record every compile of the process.
        out: Directory for bundles; None for the one beside the kernels.
        front_end: ``reference`` or ``torch-spyre``; None for the best that is there.
        cardless: A torch-spyre checkout to compile through without a card, or None.
        strict: Let the failures of observations travel on.
    """

    enabled: bool = False
    out: Path | None = None
    front_end: str | None = None
    cardless: Path | None = None
    strict: bool = False


def from_environment(environ: Mapping[str, str] = os.environ) -> Settings:
    """Return what the environment asks for.

    Args:
        environ: The environment.

    Raises:
        SettingError: A variable has a value that means nothing.
    """
    out, cardless = environ.get(DIRECTORY, ""), environ.get(CARDLESS, "")
    front_end = environ.get(FRONT_END, "") or None
    if front_end is not None and front_end not in FRONT_ENDS:
        raise SettingError(
            f"{FRONT_END}={front_end!r} is neither of {', '.join(FRONT_ENDS)}"
        )
    return Settings(
        enabled=_switch(environ, SWITCH),
        out=Path(out).expanduser().absolute() if out else None,
        front_end=front_end,
        cardless=Path(cardless).expanduser().absolute() if cardless else None,
        strict=_switch(environ, STRICT),
    )


def _switch(environ: Mapping[str, str], name: str) -> bool:
    value = environ.get(name, "")
    if value in ("", "0"):
        return False
    if value == "1":
        return True
    raise SettingError(f"{name}={value!r} is neither 0 nor 1")
