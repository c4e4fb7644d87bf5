"""Taking old bundles away, and nothing that this package did not write.

A directory goes only as a whole, and only if every entry of it is a regular file of a
name that we write there and its bundle begins as ours do. Symbolic links are never
followed and never removed.
"""

from __future__ import annotations

import os
import re
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from attrs import frozen
from filelock import FileLock, Timeout

from .atomic import cannot_write
from .bundle_dir import BUNDLE_FILE, PACKED_FILE
from .compression import is_compressed

OWN_FILES = frozenset({BUNDLE_FILE, PACKED_FILE, "report.md"})
"""Every file that is ever written into a bundle's directory."""

ABANDONED_AFTER = 3600.0
"""Seconds after which a directory without a bundle is that of a writer that died."""

_TEMPORARY = re.compile(r"\.(?:bundle\.json(?:\.zst)?|report\.md)\.\w{8}")
_HEAD = b'{\n"schema_version": '
_LOCK = ".torch_spyre_provenance.lock"


@frozen(kw_only=True)
class Pruned:
    """What became of the bundles of a directory.

    Attributes:
        removed: Directories that are gone, oldest first.
        kept: Directories of bundles that stay, oldest first.
        foreign: Entries that are left alone because they are not, or not only, ours.
    """

    removed: tuple[Path, ...] = ()
    kept: tuple[Path, ...] = ()
    foreign: tuple[Path, ...] = ()


@frozen(kw_only=True)
class _Candidate:
    path: Path
    written: int
    is_whole: bool


def prune(
    root: Path,
    keep: int,
    older_than: float = 0.0,
    *,
    now: float | None = None,
    only_look: bool = False,
) -> Pruned:
    """Remove the oldest bundles directly below a directory.

    Directories of writers that died before their bundle was whole go as well, once they
    are old enough that no living writer can own them.

    Args:
        root: The directory of bundles.
        keep: Most bundles to leave there.
        older_than: Least age in seconds of a bundle that is removed.
        now: The time in seconds since the epoch; by default the clock's.
        only_look: Remove nothing, and return what would be removed.

    Returns:
        What was removed. Nothing, where another process is at it already.

    Raises:
        OutputError: The directory cannot be read, or a bundle cannot be removed.
    """
    now = time.time() if now is None else now
    try:
        os.scandir(root).close()  # the lock would make a directory that is missing
        with _alone(root) as is_alone:
            if not is_alone:
                return Pruned()
            candidates, foreign = _survey(root)
            whole = sorted(
                (each for each in candidates if each.is_whole),
                key=lambda each: (each.written, each.path.name),
            )
            excess = whole[: max(0, len(whole) - keep)]
            old = [each for each in excess if _age(each, now) >= older_than]
            dead = [
                each
                for each in candidates
                if not each.is_whole and _age(each, now) >= ABANDONED_AFTER
            ]
            going = [*old, *dead]
            gone = {each.path for each in going if only_look or _remove(each.path)}
    except OSError as error:
        raise cannot_write(root, error) from error
    return Pruned(
        removed=tuple(each.path for each in going if each.path in gone),
        kept=tuple(each.path for each in whole if each.path not in gone),
        foreign=tuple(foreign),
    )


@contextmanager
def _alone(root: Path) -> Iterator[bool]:
    """Hold the directory's lock, or learn that another process holds it."""
    lock = FileLock(root / _LOCK)
    try:
        lock.acquire(timeout=0)
    except Timeout:
        yield False
        return
    try:
        yield True
    finally:
        lock.release()


def _age(candidate: _Candidate, now: float) -> float:
    # A clock that was set back makes files of the future: those are young.
    return now - candidate.written / 1e9


def _survey(root: Path) -> tuple[list[_Candidate], list[Path]]:
    candidates: list[_Candidate] = []
    foreign: list[Path] = []
    for entry in sorted(os.scandir(root), key=lambda entry: entry.name):
        if entry.name == _LOCK:
            continue
        found = _candidate(Path(entry.path)) if _is_directory(entry) else None
        if found is None:
            foreign.append(Path(entry.path))
        else:
            candidates.append(found)
    return candidates, foreign


def _is_directory(entry: os.DirEntry[str]) -> bool:
    return entry.is_dir(follow_symlinks=False)


def _candidate(path: Path) -> _Candidate | None:
    """Return a directory that holds nothing but our own files, or None."""
    with suppress(FileNotFoundError), _opened(path) as directory:
        written = os.fstat(directory).st_mtime_ns
        is_whole = False
        for name in _names(directory):
            facts = os.stat(name, dir_fd=directory, follow_symlinks=False)
            is_ours = name in OWN_FILES or _TEMPORARY.fullmatch(name)
            if not is_ours or not stat.S_ISREG(facts.st_mode):
                return None
            if _is_bundle(name):
                if not _begins_as_ours(directory, name):
                    return None
                is_whole, written = True, facts.st_mtime_ns
        return _Candidate(path=path, written=written, is_whole=is_whole)
    return None


def _names(directory: int) -> list[str]:
    with os.scandir(directory) as entries:
        return [entry.name for entry in entries]


def _begins_as_ours(directory: int, name: str) -> bool:
    number = os.open(name, os.O_RDONLY | os.O_NOFOLLOW, dir_fd=directory)
    with os.fdopen(number, "rb") as file:
        head = file.read(len(_HEAD))
    return head == _HEAD or is_compressed(head)


def _remove(path: Path) -> bool:
    """Remove a directory of ours; False where it changed under our hands.

    The bundle goes first: what is left by a kill in between is a dead writer's.
    """
    with suppress(FileNotFoundError):
        with _opened(path) as directory:
            for name in sorted(_names(directory), key=_is_bundle, reverse=True):
                if name in OWN_FILES or _TEMPORARY.fullmatch(name):
                    os.unlink(name, dir_fd=directory)
        with suppress(OSError):  # something new lies in it: then it is not ours alone
            path.rmdir()
            return True
    return False


def _is_bundle(name: str) -> bool:
    return name in (BUNDLE_FILE, PACKED_FILE)


@contextmanager
def _opened(path: Path) -> Iterator[int]:
    """Open a directory itself, so that a name cannot be swapped for a link."""
    number = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        yield number
    finally:
        os.close(number)
