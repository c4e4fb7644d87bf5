"""Which commit a directory is at, as git's files say; git itself is not run."""

from __future__ import annotations

from pathlib import Path


def commit_of(root: Path) -> str | None:
    """Return the commit that is checked out in a directory, or None.

    Args:
        root: The working tree's root. A worktree and a submodule, whose ``.git`` is a
            file that leads elsewhere, are not followed.
    """
    git = root / ".git"
    head = _read(git / "HEAD")
    if head is None or not head.startswith("ref: "):
        return head
    name = head.removeprefix("ref: ")
    return _read(git / name) or _packed(git / "packed-refs", name)


def _read(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8").strip() or None
    except (OSError, UnicodeDecodeError):
        return None


def _packed(path: Path, name: str) -> str | None:
    rows = (_read(path) or "").splitlines()
    return next((row.split()[0] for row in rows if row.endswith(f" {name}")), None)
