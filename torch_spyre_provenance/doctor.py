"""What this machine offers to a recording: torch, front ends, seams, caches, paths."""

from __future__ import annotations

import os
import platform
from pathlib import Path

import torch
from attrs import asdict, frozen
from torch._functorch import config as functorch_config
from torch._inductor import config as inductor_config
from torch._inductor.runtime.runtime_utils import cache_dir

from .errors import FrontEndError
from .frontends.contract import FrontEnd
from .frontends.discovery import CARDLESS, TORCH_SPYRE, Discovery, find_front_end
from .frontends.torch_spyre import cache_bypass
from .recording.points import COMPILE_POINTS, RUN_POINTS
from .recording.run_facts import default_root, own_versions
from .settings import from_environment


@frozen(kw_only=True)
class Finding:
    """One thing that was looked for.

    Attributes:
        topic: What it belongs to: ``versions``, ``front end``, ``seam``, ``cache``,
            ``path`` or ``variable``.
        name: What was looked for.
        value: What was found.
        is_good: Whether recording can use it as it is.
    """

    topic: str
    name: str
    value: str
    is_good: bool = True


@frozen(kw_only=True)
class Examination:
    """Everything that was found.

    Attributes:
        findings: The findings, topic by topic.
        front_end: Name of the front end that a recording would use, or None.
    """

    findings: tuple[Finding, ...]
    front_end: str | None


def examine(checkout: Path | None = None) -> Examination:
    """Look at everything that a recording depends on.

    The front end is loaded, so that what is reported of it was tried and not guessed.

    Args:
        checkout: A torch-spyre checkout to compile through without a card; by default
            the one that the environment names.

    Raises:
        SettingError: An environment variable has a value that means nothing.
    """
    settings = from_environment()
    variables = _variables()
    discovery = find_front_end(settings.front_end, checkout or settings.cardless)
    front_end, failure = _load(discovery)
    return Examination(
        findings=(
            *_versions(front_end),
            *_front_ends(discovery, failure),
            *_seams(front_end),
            *_caches(front_end),
            *_paths(settings.out),
            *variables,
        ),
        front_end=None if front_end is None else front_end.name,
    )


def _load(discovery: Discovery) -> tuple[FrontEnd | None, str | None]:
    try:
        return discovery.load(), None
    except FrontEndError as error:
        return None, str(error)


def _versions(front_end: FrontEnd | None) -> list[Finding]:
    versions = (*own_versions(), *(front_end.versions if front_end else ()))
    found = [Finding(topic="versions", name=n, value=v) for n, v in versions]
    where = str(Path(torch.__file__).parent)
    return [
        *found,
        Finding(topic="versions", name="torch is in", value=where),
        Finding(topic="versions", name="platform", value=platform.platform()),
    ]


def _front_ends(discovery: Discovery, failure: str | None) -> list[Finding]:
    found: list[Finding] = []
    for candidate in discovery.candidates:
        is_chosen = candidate is discovery.chosen
        problem = candidate.missing or (failure if is_chosen else None)
        where = candidate.where or "not found"
        state = "in use" if is_chosen else "usable"
        found.append(
            Finding(
                topic="front end",
                name=candidate.name,
                value=f"{where}: {problem or state}",
                is_good=problem is None,
            )
        )
    return found


def _seams(front_end: FrontEnd | None) -> list[Finding]:
    if front_end is None:
        return []
    missing = front_end.unavailable
    return [
        Finding(
            topic="seam",
            name=point.value,
            value=missing.get(point.value, "available"),
            is_good=point.value not in missing,
        )
        for point in (*COMPILE_POINTS, *RUN_POINTS)
    ]


def _caches(front_end: FrontEnd | None) -> list[Finding]:
    switches = {
        "FX graph cache": inductor_config.fx_graph_cache,
        "remote FX graph cache": inductor_config.fx_graph_remote_cache,
        "AOTAutograd cache": functorch_config.enable_autograd_cache,
        "caches disabled altogether": inductor_config.force_disable_caches,
    }
    words = {True: "yes", False: "no", None: "where torch wants it"}
    found = [
        Finding(topic="cache", name=name, value=words[switch])
        for name, switch in switches.items()
    ]
    is_torch_spyre = front_end is not None and front_end.name in (TORCH_SPYRE, CARDLESS)
    reason = cache_bypass() if is_torch_spyre else None
    if reason is not None:
        name = "torch-spyre's compiles"
        found.append(Finding(topic="cache", name=name, value=reason, is_good=False))
    return found


def _paths(out: Path | None) -> list[Finding]:
    root = out or default_root()
    near = next(p for p in (root, *root.parents) if p.exists())
    is_writable = near.is_dir() and os.access(near, os.W_OK)
    note = "" if is_writable else " (cannot be written to)"
    return [
        Finding(topic="path", name="Inductor's cache", value=cache_dir()),
        Finding(
            topic="path", name="bundles", value=f"{root}{note}", is_good=is_writable
        ),
    ]


def _variables() -> list[Finding]:
    return [
        Finding(topic="variable", name=name, value=value)
        for name, value in sorted(os.environ.items())
        if name.startswith("TORCH_SPYRE_PROVENANCE")
        or name in ("TORCH_DEVICE_BACKEND_AUTOLOAD", "TORCHINDUCTOR_CACHE_DIR")
    ]


def examination_text(examination: Examination) -> str:
    """Return an examination as lines of text, a mark before what is not usable."""
    lines: list[str] = []
    topic = ""
    for finding in examination.findings:
        if finding.topic != topic:
            topic = finding.topic
            lines += ["", topic] if lines else [topic]
        mark = " " if finding.is_good else "!"
        lines.append(f"{mark} {finding.name:<28} {finding.value}")
    chosen = examination.front_end or "none: graphs without spyre tensors only"
    return "\n".join([*lines, "", f"a recording would use: {chosen}"])


def examination_facts(examination: Examination) -> dict[str, object]:
    """Return an examination as plain values for JSON."""
    return {
        "front_end": examination.front_end,
        "findings": [asdict(finding) for finding in examination.findings],
    }
