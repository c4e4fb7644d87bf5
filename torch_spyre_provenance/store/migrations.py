"""From the formats that older releases wrote to the present one, version by version.

Each step takes decoded JSON and knows one version only. What an older format did not
record stays unrecorded: a step adds what is true of every bundle of its version, and
never guesses.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ..model import SCHEMA_VERSION, Redaction

Step = Callable[[dict[str, Any]], dict[str, Any]]
"""Turns a bundle of one version into one of the next, without changing its input."""


def migrate(plain: dict[str, Any]) -> dict[str, Any]:
    """Return a decoded bundle of any known version as one of the present version.

    Args:
        plain: The decoded JSON, whole or not; its ``schema_version`` is an integer from
            1 to the present version.
    """
    for version in range(plain["schema_version"], SCHEMA_VERSION):
        plain = {**MIGRATIONS[version](plain), "schema_version": version + 1}
    return plain


def _from_1(plain: dict[str, Any]) -> dict[str, Any]:
    """Say that nothing was redacted; the new run facts are optional."""
    return {**plain, "redaction": Redaction.NONE.value}


MIGRATIONS: Mapping[int, Step] = {1: _from_1}
"""The step from each older version to the one after it."""
