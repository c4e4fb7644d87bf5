"""Generated programs: Python source whose lines are known by their extents."""

from __future__ import annotations

from attrs import frozen

from .truth import Truth

Shape = tuple[int, ...]


@frozen(kw_only=True)
class Program:
    """A model as Python source, and which op belongs to which of its lines.

    The source's last file defines ``Model``, whose ``forward`` takes `inputs`.

    Attributes:
        kind: What the program is about.
        seed: What it was generated from, with its kind.
        files: Name and text of each file, each after those that it imports.
        inputs: Shapes of the inputs, all fp16.
        trains: Whether gradients are computed too.
        truth: Which op belongs to which line; a line is ``file name:line``.
    """

    kind: str
    seed: int
    files: tuple[tuple[str, str], ...]
    inputs: tuple[Shape, ...]
    trains: bool
    truth: Truth

    @property
    def name(self) -> str:
        """Return the kind and the seed, by which it can be generated again."""
        return f"{self.kind}:{self.seed}"
