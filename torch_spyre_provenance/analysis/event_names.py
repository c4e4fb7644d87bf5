"""What the name of a profiler's event says of the kernel that it ran.

torch-spyre and the reference front end mark a launch with the kernel's name; later
releases of torch-spyre name the device's event by a key of the kernel's content.
"""

from __future__ import annotations

import re

_MARKED = re.compile(r"(?:launch_jobplan|launch_kernel):(?P<name>.+)")
_KEYED = re.compile(r"spyre_kernel_v\d+_(?:.*_)?(?P<key>[a-z2-7]{16})(?:#\d+)?")
_BARE_KEY = re.compile(r"[a-z2-7]{16}")
_STEP = re.compile(r"#\d+$")


def is_launch(name: str) -> bool:
    """Return whether an event is the mark of a launch."""
    return _MARKED.fullmatch(name) is not None


def kernel_name(name: str) -> str:
    """Return the kernel's name, without what marks the event or its step."""
    match = _MARKED.fullmatch(name)
    return _STEP.sub("", match["name"] if match else name)


def kernel_key(name: str) -> str | None:
    """Return torch-spyre's key of the kernel's content, or None."""
    match = _KEYED.fullmatch(name)
    return match["key"] if match else None


def asked_key(text: str) -> str | None:
    """Return the key that a text stands for: an event's name, or the key itself."""
    return text if _BARE_KEY.fullmatch(text) else kernel_key(text)
