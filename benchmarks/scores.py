"""Counting how attributions compare with the truth."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from attrs import asdict, frozen

from torch_spyre_provenance.analysis.attribution import Attribution, attribute
from torch_spyre_provenance.errors import UnsupportedError
from torch_spyre_provenance.model import Bundle, CompileKind, Evidence, Op

from .execution import Run
from .truth import Expected

_REFUSAL = f"[{UnsupportedError.slug}]"


@frozen(kw_only=True)
class Verdict:
    """What is said of one op, and what is true.

    Attributes:
        op: Where the op is: graph, kernel, position, buffer and device name.
        expected: What may be said.
        claimed: The lines that it is attributed to.
        evidence: How they are known.
        reason: Why there are none, or the rule that found them.
        handle: The line that the front end's own handle names, or None.
    """

    op: str
    expected: Expected
    claimed: tuple[str, ...]
    evidence: Evidence
    reason: str
    handle: str | None

    @property
    def is_wrong(self) -> bool:
        """Return whether our attribution is wrong."""
        return self.expected.is_wrong(self.claimed)

    @property
    def is_handle_wrong(self) -> bool:
        """Return whether the front end's is."""
        return self.handle is not None and self.expected.is_wrong([self.handle])

    @property
    def is_open(self) -> bool:
        """Return whether the program's extents do not tell the op's line."""
        return not self.expected.allowed


@frozen(kw_only=True)
class Score:
    """Numbers of ops: all of them, by evidence, and those with a wrong line."""

    ops: int = 0
    measured: int = 0
    inferred: int = 0
    missing: int = 0
    wrong: int = 0

    @property
    def attributed(self) -> int:
        """Return the number of ops with a line, right or wrong."""
        return self.measured + self.inferred

    def as_json(self) -> dict[str, Any]:
        """Return the numbers by name."""
        return asdict(self)


@frozen(kw_only=True)
class Result:
    """What is said of a program's ops.

    Attributes:
        kind: The program's kind.
        program: Its name.
        verdicts: One for each op, in the order of compiles and of execution.
        error: What kept it from being compiled whole, or None.
    """

    kind: str
    program: str
    verdicts: tuple[Verdict, ...]
    error: str | None = None

    @property
    def is_failure(self) -> bool:
        """Return whether the program should have been compiled and was not.

        The reference front end may refuse what the device cannot address, and says so.
        """
        return self.error is not None and _REFUSAL not in self.error


def judge(run: Run) -> Result:
    """Compare what was recorded of a program with the truth."""
    return Result(
        kind=run.program.kind,
        program=run.program.name,
        verdicts=tuple(_verdicts(run)),
        error=run.error,
    )


def _verdicts(run: Run) -> Iterator[Verdict]:
    for bundle in run.bundles:
        for (_, op), claim in zip(bundle.ops, attribute(bundle), strict=True):
            yield _verdict(run, bundle, op, claim)


def _verdict(run: Run, bundle: Bundle, op: Op, claim: Attribution) -> Verdict:
    handle = op.handle.source if op.handle else None
    is_backward = bundle.compile.kind is CompileKind.BACKWARD
    return Verdict(
        op=f"{bundle.compile.graph} {claim.kernel} {op.spec_path} {op.buffer} {op.op}",
        expected=run.program.truth.expected(op, backward=is_backward),
        claimed=tuple(
            _place(place.frame.file, place.frame.line, run.directory)
            for place in claim.locations
        ),
        evidence=claim.evidence,
        reason=claim.reason or str(claim.rule),
        handle=_place(handle.file, handle.start_line, run.directory)
        if handle
        else None,
    )


def _place(file: str, line: int, directory: Path) -> str:
    """Return ``file:line``, relative to the program where it is one of its files."""
    return f"{file.removeprefix(f'{directory}/')}:{line}"


def score(found: Iterable[Verdict]) -> Score:
    """Return the numbers of our attributions."""
    found = tuple(found)
    kinds = [verdict.evidence for verdict in found]
    return Score(
        ops=len(found),
        measured=kinds.count(Evidence.MEASURED),
        inferred=kinds.count(Evidence.INFERRED),
        missing=kinds.count(Evidence.MISSING),
        wrong=sum(verdict.is_wrong for verdict in found),
    )


def front_end_score(found: Iterable[Verdict]) -> Score:
    """Return the numbers of the front end's own handles; it measures or it misses."""
    found = tuple(found)
    missing = sum(verdict.handle is None for verdict in found)
    return Score(
        ops=len(found),
        measured=len(found) - missing,
        missing=missing,
        wrong=sum(verdict.is_handle_wrong for verdict in found),
    )
