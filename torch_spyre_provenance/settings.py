"""The environment variables, read in one place."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from attrs import frozen

from .errors import SettingError
from .model import Redaction

SWITCH = "TORCH_SPYRE_PROVENANCE"
DIRECTORY = "TORCH_SPYRE_PROVENANCE_DIR"
FRONT_END = "TORCH_SPYRE_PROVENANCE_FRONTEND"
CARDLESS = "TORCH_SPYRE_PROVENANCE_CARDLESS"
STRICT = "TORCH_SPYRE_PROVENANCE_STRICT"
REDACT = "TORCH_SPYRE_PROVENANCE_REDACT"
KEEP = "TORCH_SPYRE_PROVENANCE_KEEP"
COMPRESS = "TORCH_SPYRE_PROVENANCE_COMPRESS"
LIMITS = "TORCH_SPYRE_PROVENANCE_LIMITS"
JOB = "TORCH_SPYRE_PROVENANCE_JOB"

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
        redact: What to replace by pseudonyms before anything is written.
        keep: Most bundles to leave in the directory; None for all.
        compress: Bytes from which on a bundle is written compressed; None for never.
    """

    enabled: bool = False
    out: Path | None = None
    front_end: str | None = None
    cardless: Path | None = None
    strict: bool = False
    redact: Redaction = Redaction.NONE
    keep: int | None = None
    compress: int | None = None


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
        redact=_redaction(environ),
        keep=_count(environ, KEEP, least=1),
        compress=_count(environ, COMPRESS),
    )


def limit_factor(environ: Mapping[str, str] = os.environ) -> int:
    """Return by what to multiply the bounds of the reader.

    Args:
        environ: The environment.

    Raises:
        SettingError: The variable holds no whole number from 1 on.
    """
    return _count(environ, LIMITS, least=1) or 1


def _switch(environ: Mapping[str, str], name: str) -> bool:
    value = environ.get(name, "")
    if value in ("", "0"):
        return False
    if value == "1":
        return True
    raise SettingError(f"{name}={value!r} is neither 0 nor 1")


def _count(environ: Mapping[str, str], name: str, least: int = 0) -> int | None:
    value = environ.get(name, "")
    if not value:
        return None
    if not (value.isascii() and value.isdecimal()) or int(value) < least:
        raise SettingError(f"{name}={value!r} is no whole number from {least} on")
    return int(value)


def _redaction(environ: Mapping[str, str]) -> Redaction:
    value = environ.get(REDACT, "") or Redaction.NONE.value
    if value not in set(Redaction):
        known = ", ".join(Redaction)
        raise SettingError(f"{REDACT}={value!r} is neither of {known}")
    return Redaction(value)
