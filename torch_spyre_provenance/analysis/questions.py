"""Questions that people put to a bundle: a line, a kernel, a handle, a module, a file.

Every answer is a set of device ops, with what is known of each. What was asked is told
from its form and from what the bundle has, in the order of `Subject`.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterator, Mapping
from enum import StrEnum
from functools import cached_property
from pathlib import PurePosixPath
from types import MappingProxyType

from attrs import frozen

from ..errors import NotFoundError
from ..model import IrOp, Kernel, Op
from .attribution import Attribution, Attributor, Location
from .event_names import asked_key, kernel_name
from .sdsc import SdscLink, link_files

_LINE = re.compile(r"(?P<file>.+):(?P<line>\d+)")
_SPEC = re.compile(r"(?P<kernel>.+):(?P<path>\d+(?:\.\d+)*)")
_MOST_NEAR = 5


class Subject(StrEnum):
    """What a question is about.

    ``CALLER`` is a line that has no op of its own and calls code that has.
    """

    KERNEL = "kernel"
    EVENT = "event"
    OP = "op"
    HANDLE = "handle"
    LINE = "line"
    CALLER = "caller"
    MODULE = "module"
    FILE = "file"
    SDSC = "sdsc"


@frozen(kw_only=True)
class KnownOp:
    """One device op and all that is known of it.

    Attributes:
        kernel: The kernel that it is in.
        op: The op as recorded.
        found: Its attribution.
        link: The ``sdsc_N.json`` that it runs.
    """

    kernel: Kernel
    op: Op
    found: Attribution
    link: SdscLink


@frozen(kw_only=True)
class Answer:
    """What a bundle has to say to a question.

    Attributes:
        subject: What the question is about.
        name: That subject in full: a whole path where a part of it was asked for.
        ops: The device ops, in execution order.
        nodes: Names of Dynamo's nodes of a line or file, in graph order.
        host_ops: Operations of a line or file that run outside the device's kernels.
    """

    subject: Subject
    name: str
    ops: tuple[KnownOp, ...]
    nodes: tuple[str, ...] = ()
    host_ops: tuple[IrOp, ...] = ()


def answer(
    facts: Attributor, question: str, keys: Mapping[str, str] = MappingProxyType({})
) -> Answer:
    """Return what a bundle knows of a subject.

    Args:
        facts: The bundle and its attribution.
        question: ``KERNEL``, ``KERNEL:spec.path``, the name of a profiler's event, a
            kernel's key, a handle's id, ``file:line``, a module's path, a file, or a
            kernel's directory or ``sdsc_N.json``. The end of a file's path is enough,
            from a directory's name on.
        keys: torch-spyre's key of each kernel's content, by kernel, where it is known.

    Raises:
        NotFoundError: The bundle has no such thing; the error lists what is near.
    """
    desk = _Desk(facts, question.strip(), keys)
    found = next((each for ask in _ORDER if (each := ask(desk))), None)
    if found is None:
        near = desk.near()
        hint = f"; near: {', '.join(near)}" if near else ""
        raise NotFoundError(f"the bundle has no {question!r}{hint}", near=near)
    return found


@frozen(slots=False)
class _Desk:
    """One question and the bundle that it is put to."""

    facts: Attributor
    question: str
    keys: Mapping[str, str]

    @cached_property
    def ops(self) -> tuple[KnownOp, ...]:
        """Return every device op."""
        bundle = self.facts.bundle
        rows = zip(bundle.ops, self.facts.attributions, link_files(bundle), strict=True)
        return tuple(
            KnownOp(kernel=kernel, op=op, found=found, link=link)
            for (kernel, op), found, link in rows
        )

    @cached_property
    def asked_line(self) -> tuple[str, int] | None:
        """Return the file and line that the question names, if it does."""
        match = _LINE.fullmatch(self.question)
        return (match["file"], int(match["line"])) if match else None

    def of_kernel(self) -> Answer | None:
        """Answer for a kernel's name."""
        names = {kernel.name for kernel in self.facts.bundle.kernels or ()}
        if self.question not in names:
            return None
        return self._ops(Subject.KERNEL, lambda op: op.kernel.name == self.question)

    def of_event(self) -> Answer | None:
        """Answer for the name of a profiler's event, or for a kernel's key."""
        key = asked_key(self.question)
        if key is not None:
            names = {name for name, own in self.keys.items() if own == key}
        else:
            names = {kernel_name(self.question)}
        return self._some(Subject.EVENT, lambda op: op.kernel.name in names)

    def of_op(self) -> Answer | None:
        """Answer for a kernel's name and a spec path."""
        match = _SPEC.fullmatch(self.question)
        if match is None:
            return None
        wanted = (match["kernel"], match["path"])
        return self._some(
            Subject.OP, lambda op: (op.kernel.name, op.op.spec_path) == wanted
        )

    def of_handle(self) -> Answer | None:
        """Answer for the id of a handle, or of one that it was fused from."""
        if not (self.question.isascii() and self.question.isdecimal()):
            return None
        wanted = int(self.question)
        return self._some(Subject.HANDLE, lambda op: wanted in _handle_ids(op.op))

    def of_line(self) -> Answer | None:
        """Answer for a line that ops or nodes of the model come from."""
        if self.asked_line is None:
            return None
        return self._placed(Subject.LINE, lambda place: _is_at(place, self.asked_line))

    def of_caller(self) -> Answer | None:
        """Answer for a line that is further out in the stacks of some ops."""
        asked = self.asked_line
        if asked is None:
            return None
        return self._placed(
            Subject.CALLER,
            lambda place: any(
                frame.line == asked[1] and _is_tail(asked[0], frame.file)
                for frame in place.stack
            ),
        )

    def of_module(self) -> Answer | None:
        """Answer for a module's path, with everything inside it."""
        inside = self.question + "."
        return self._some(
            Subject.MODULE,
            lambda op: any(
                module.path == self.question or module.path.startswith(inside)
                for module in op.found.modules
            ),
        )

    def of_file(self) -> Answer | None:
        """Answer for a source file."""
        return self._placed(
            Subject.FILE, lambda place: _is_tail(self.question, place.frame.file)
        )

    def of_sdsc(self) -> Answer | None:
        """Answer for a kernel's directory, or for a file in it."""
        wanted = self.question.rstrip("/")
        directories = {f.kernel: f.directory for f in self.facts.bundle.run.files}

        def runs(op: KnownOp) -> bool:
            directory = directories.get(op.kernel.name)
            if directory is None:
                return False
            file = op.link.file.name if op.link.file else ""
            return _is_tail(wanted, directory) or (
                bool(file) and _is_tail(wanted, f"{directory}/{file}")
            )

        return self._some(Subject.SDSC, runs) if wanted else None

    def near(self) -> tuple[str, ...]:
        """Return names that resemble the question: lines nearby, else spellings."""
        if self.asked_line is not None:
            lines = self._near_lines(*self.asked_line)
            if lines:
                return lines
        return tuple(
            difflib.get_close_matches(self.question, self._names(), _MOST_NEAR, 0.5)
        )

    def _near_lines(self, file: str, line: int) -> tuple[str, ...]:
        known = {
            (place.frame.line, PurePosixPath(place.frame.file).name)
            for place in self.facts.locations
            if place and _is_tail(file, place.frame.file)
        }
        nearest = sorted(known, key=lambda each: (abs(each[0] - line), each))
        return tuple(f"{name}:{number}" for number, name in nearest[:_MOST_NEAR])

    def _names(self) -> list[str]:
        names = {
            *(kernel.name for kernel in self.facts.bundle.kernels or ()),
            *(module.path for op in self.ops for module in op.found.modules),
            *(
                PurePosixPath(place.frame.file).name
                for place in self.facts.locations
                if place
            ),
        }
        return sorted(names - {""})

    def _ops(self, subject: Subject, is_meant: Callable[[KnownOp], bool]) -> Answer:
        return Answer(
            subject=subject, name=self.question, ops=tuple(filter(is_meant, self.ops))
        )

    def _some(
        self, subject: Subject, is_meant: Callable[[KnownOp], bool]
    ) -> Answer | None:
        found = self._ops(subject, is_meant)
        return found if found.ops else None

    def _placed(
        self, subject: Subject, is_meant: Callable[[Location], bool]
    ) -> Answer | None:
        """Answer with all that has a location which is meant."""
        meant = [
            place is not None and is_meant(place) for place in self.facts.locations
        ]
        if not any(meant):
            return None
        nodes = self.facts.index.pre_nodes.items()
        graph = self.facts.bundle.loop_ir_post
        return Answer(
            subject=subject,
            name=self.question,
            ops=tuple(op for op in self.ops if any(map(is_meant, op.found.locations))),
            nodes=tuple(
                name
                for name, node in nodes
                if node.stack is not None and meant[node.stack]
            ),
            host_ops=tuple(
                op
                for op in (graph.ops if graph else ())
                if op.kernel and self._is_placed(op, is_meant)
            ),
        )

    def _is_placed(self, op: IrOp, is_meant: Callable[[Location], bool]) -> bool:
        return any(map(is_meant, self.facts.ir_locations(op.buffer or op.name)))


_ORDER = (
    _Desk.of_kernel,
    _Desk.of_event,
    _Desk.of_op,
    _Desk.of_handle,
    _Desk.of_line,
    _Desk.of_caller,
    _Desk.of_module,
    _Desk.of_file,
    _Desk.of_sdsc,
)


def _handle_ids(op: Op) -> Iterator[int]:
    if op.handle is not None:
        yield op.handle.id
        yield from (part.id for part in op.handle.fused_from)


def _is_at(place: Location, asked: tuple[str, int] | None) -> bool:
    if asked is None or place.frame.line != asked[1]:
        return False
    return _is_tail(asked[0], place.frame.file)


def _is_tail(part: str, path: str) -> bool:
    """Return whether a path ends in these whole parts."""
    part = part.removeprefix("./")
    return path == part or path.endswith("/" + part.lstrip("/"))
