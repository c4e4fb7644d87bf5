"""Taking the snapshot of the source lines that stack traces name."""

from __future__ import annotations

import hashlib
import linecache
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

import torch
from attrs import evolve

from ..model import Frame, SourceFile, SourceLine, Stack

TORCH = str(Path(torch.__file__).parent) + "/"
"""Frames below this directory are torch's own; their source is not the model's."""

N_NEIGHBOURS = 3
"""Lines kept before and after each line that a trace names."""

MAX_LINES = 2_000
"""Most lines kept of one file."""


def snapshot(stacks: Iterable[Stack]) -> tuple[SourceFile, ...]:
    """Return the lines around every frame outside of torch, by path.

    What `linecache` cannot find (a file that is gone, code from a string that no one
    registered) is left out.
    """
    named: defaultdict[str, set[int]] = defaultdict(set)
    for stack in stacks:
        for frame in stack:
            if not frame.file.startswith(TORCH):
                named[frame.file].add(frame.line)
    files = (_source_file(path, named[path]) for path in sorted(named))
    return tuple(each for each in files if each is not None)


def _source_file(path: str, numbers: set[int]) -> SourceFile | None:
    lines = linecache.getlines(path)
    if not lines:
        return None
    wanted = sorted(
        {
            near
            for number in numbers
            for near in range(number - N_NEIGHBOURS, number + N_NEIGHBOURS + 1)
            if 1 <= near <= len(lines)
        }
    )
    return SourceFile(
        path=path,
        sha256=hashlib.sha256(
            "".join(lines).encode("utf-8", "surrogatepass")
        ).hexdigest(),
        lines=tuple(
            SourceLine(number=number, text=lines[number - 1].rstrip("\r\n"))
            for number in wanted[:MAX_LINES]
        ),
    )


def with_columns(stack: Stack) -> Stack:
    """Return a stack whose marked columns count from the beginning of the line.

    A trace quotes a line without its indentation, and marks columns in the quotation.
    Where the line cannot be found as quoted, the columns are dropped.
    """
    return tuple(_with_columns(frame) for frame in stack)


def _with_columns(frame: Frame) -> Frame:
    if frame.column is None:
        return frame
    line = linecache.getline(frame.file, frame.line)
    if line.strip() != frame.text:
        return evolve(frame, column=None, end_column=None)
    indent = len(line) - len(line.lstrip())
    end = None if frame.end_column is None else frame.end_column + indent
    return evolve(frame, column=frame.column + indent, end_column=end)
