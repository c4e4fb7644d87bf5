"""Turning recording on and off: the one place where all rooms are put together."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from .errors import FrontEndError, OutputError
from .frontends.contract import FrontEnd
from .frontends.discovery import load_front_end
from .publish import Publisher
from .recording.current import current_session
from .recording.installation import install, register_plain, uninstall
from .recording.session import RecordedBundle, Session
from .settings import Settings, from_environment

__all__ = ["RecordedBundle", "Session", "disable", "enable", "record"]


def enable(
    out: Path | str | None = None,
    *,
    front_end: str | None = None,
    torch_spyre: Path | str | None = None,
    strict: bool = False,
) -> Session:
    """Record every compile of this process from now on.

    What is not given is taken from the environment. Recording that is already on goes
    on as it is where its settings are the ones asked for; otherwise a new one begins.

    Args:
        out: Directory for the bundles; by default the one beside the kernels.
        front_end: ``reference`` or ``torch-spyre``; by default the best that is there.
        torch_spyre: A torch-spyre checkout to compile through without a card.
        strict: Let the failures of observations travel on (for tests).

    Returns:
        The recording.

    Raises:
        FrontEndError: The front end asked for cannot be used.
        OutputError: `out` cannot be made.
        SettingError: An environment variable has a value that means nothing.
    """
    given = from_environment()
    return _start(
        Settings(
            enabled=True,
            out=given.out if out is None else _directory(Path(out)),
            front_end=front_end or given.front_end,
            cardless=given.cardless if torch_spyre is None else Path(torch_spyre),
            strict=strict or given.strict,
            redact=given.redact,
            keep=given.keep,
            compress=given.compress,
        )
    )


def disable() -> None:
    """Stop recording; the device and its plain compiler stay."""
    uninstall()


@contextmanager
def record(
    out: Path | str | None = None,
    *,
    front_end: str | None = None,
    torch_spyre: Path | str | None = None,
    strict: bool = False,
) -> Iterator[Session]:
    """Record the compiles of a block; afterwards ``recording.bundles`` holds them.

    Args:
        out: As for `enable`.
        front_end: As for `enable`.
        torch_spyre: As for `enable`.
        strict: As for `enable`.

    Yields:
        The recording.
    """
    before = current_session()
    recording = enable(out, front_end=front_end, torch_spyre=torch_spyre, strict=strict)
    try:
        yield recording
    finally:
        if before is None:
            uninstall()
        else:
            install(before)


def start_from_environment() -> None:
    """Do what the environment asks for, as torch's import ends.

    Raises:
        ProvenanceError: It cannot be done.
    """
    settings = from_environment()
    if settings.enabled:
        _start(settings)
    elif settings.front_end is not None:
        register_plain(_front_end(settings))


def recording_for_backend() -> Session:
    """Return the active recording, or start one from the environment's settings.

    Where there can be no front end, the graphs of other devices are recorded.
    """
    session = current_session()
    if session is not None:
        return session
    try:
        return _start(from_environment())
    except FrontEndError as error:
        warnings.warn(f"no device kernels: {error}", RuntimeWarning, stacklevel=2)
        return _install(from_environment(), None)


def _start(settings: Settings) -> Session:
    return _install(settings, _front_end(settings))


def _install(settings: Settings, front_end: FrontEnd | None) -> Session:
    publisher = Publisher(
        redaction=settings.redact,
        keep=settings.keep,
        compress_from=settings.compress,
    )
    session = Session(
        publish=publisher.write,
        render=publisher.render,
        front_end=front_end,
        out=settings.out,
        strict=settings.strict,
    )
    install(session)
    return session


def _front_end(settings: Settings) -> FrontEnd:
    return load_front_end(requested=settings.front_end, checkout=settings.cardless)


def _directory(path: Path) -> Path:
    path = path.expanduser().absolute()
    try:
        path.mkdir(parents=True, exist_ok=True)
        probe = path / ".torch_spyre_provenance"
        probe.touch()
        probe.unlink()
    except OSError as error:
        raise OutputError(f"cannot write into {path}: {error.strerror}") from error
    return path
