"""The facts of a machine that figures of cost depend on."""

from __future__ import annotations

import os
import platform
from importlib import metadata
from pathlib import Path

_PACKAGES = ("torch", "torch-spyre", "torch-spyre-provenance")


def machine_facts() -> dict[str, str]:
    """Return what to write beside figures: processor, memory, system, versions.

    No names of hosts or users are among them.
    """
    return {
        "processor": _row(Path("/proc/cpuinfo"), "model name") or platform.machine(),
        "cores": str(os.cpu_count()),
        "memory": _row(Path("/proc/meminfo"), "MemTotal") or "unknown",
        "load": " ".join(f"{load:.1f}" for load in os.getloadavg()),
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
        **{name: version for name in _PACKAGES if (version := _version(name))},
    }


def _row(path: Path, key: str) -> str | None:
    """Return the value of the first ``key : value`` row of a file, or None."""
    if not path.exists():
        return None
    rows = (row.partition(":") for row in path.read_text().splitlines())
    return next((value.strip() for name, _, value in rows if name.strip() == key), None)


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None
