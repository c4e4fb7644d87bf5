"""Generated programs: the same each time, sound, and with lines that are theirs.

The truth about a program is checked against Python itself: each program runs eagerly,
and the line that Python executes at each operator has to be the one that the operator's
extents tell.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from benchmarks.execution import loaded
from benchmarks.kinds import KINDS, OPERATORS, one_of_each, random_programs
from benchmarks.truth import MATMUL
from torch_spyre_provenance.model import Dim, Op, OpArg

SEEDS = range(6)

DEVICE_NAMES = {
    **dict.fromkeys(("mm", "bmm", "addmm", "baddbmm"), MATMUL),
    **dict.fromkeys(("clone", "copy_", "_to_copy", "cat"), "identity"),
    "div": "realdiv",
    "relu": "relufwd",
}
"""The device's names for eager operators, where they differ and the truth asks."""

REDUCTIONS = ("sum", "mean", "amax", "amin")

VIEWS = ("_unsafe_view", "detach", "split_with_sizes")
"""Views that do not say so."""


class Watcher(TorchDispatchMode):
    """Notes the operators that a program runs, each with its line.

    Attributes:
        seen: Device name, iteration space, what the result keeps of it, and line.
    """

    def __init__(self, directory):
        super().__init__()
        self.directory = str(directory)
        self.seen = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        """Run an operator and note it unless it only makes a view."""
        result = func(*args, **(kwargs or {}))
        name = func.overloadpacket.__name__
        if not func.is_view and name not in VIEWS:
            first = result[0] if isinstance(result, tuple) else result
            self._note(name, first, args)
        return result

    def _note(self, name, result, args):
        kept = [n for n in result.shape if n > 1]
        space = list(kept)
        if name in ("mm", "bmm", "addmm", "baddbmm"):
            space.append(args[-2].shape[-1])
        elif name in REDUCTIONS:
            space = list(args[0].shape)
        op = DEVICE_NAMES.get(name.removesuffix("_"), name.removesuffix("_"))
        self.seen.append((op, space, kept, self._line()))

    def _line(self):
        """Return the innermost line of the program that runs now."""
        frame = sys._getframe()
        while frame is not None:
            file = Path(frame.f_code.co_filename)
            if str(file.parent) == self.directory:
                return f"{file.name}:{frame.f_lineno}"
            frame = frame.f_back
        return None


def ran(program, directory):
    """Run a program on the host and return what its operators were."""
    torch.manual_seed(program.seed)
    inputs = [torch.randn(shape, dtype=torch.float16) for shape in program.inputs]
    with loaded(program, directory) as module, torch.no_grad():
        model = module.Model()
        with Watcher(directory) as watcher:
            model(*inputs)
    return watcher.seen


def device_op(name, space, kept):
    """Return the op that a device would have for an operator."""
    dims = tuple(
        Dim(symbol=f"c{position}", extent=str(extent), split=1)
        for position, extent in enumerate(space)
    )
    result = OpArg(
        is_input=False,
        arg_index=0,
        device_dtype="SEN169_FP16",
        device_size=(),
        device_coordinates=tuple(d.symbol for d in dims if int(d.extent) in kept),
    )
    return Op(
        path=(0,),
        op=name,
        is_reduction=len(kept) < len(space),
        iteration_space=dims,
        args=(result,),
    )


def disagreements(program, directory):
    """Return the operators whose extents do not tell the line that Python ran."""
    seen = ran(program, directory)
    assert seen
    return [
        (program.name, name, space, line, str(expected))
        for name, space, kept, line in seen
        for expected in [program.truth.expected(device_op(name, space, kept))]
        if expected.is_wrong([line]) or not expected.allowed
    ]


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "single"])
def test_extents_tell_the_line_that_python_runs(kind, tmp_path):
    """What a program says of its operators is what Python does."""
    programs = [KINDS[kind](seed) for seed in SEEDS]

    assert [] == [each for p in programs for each in disagreements(p, tmp_path)]


def test_extents_of_single_operators_tell_the_line(tmp_path):
    """The same holds for the lines about one operator each."""
    programs = [KINDS["single"](seed) for seed in range(len(OPERATORS))]

    assert [] == [each for p in programs for each in disagreements(p, tmp_path)]


@pytest.mark.parametrize("kind", KINDS)
def test_seed_decides(kind):
    """A kind and a seed give one program, and another seed gives another."""
    make = KINDS[kind]

    assert make(6) == make(6)
    assert make(6).files != make(8).files


@pytest.mark.parametrize("kind", KINDS)
def test_lines_exist(kind):
    """Every line that the truth names is in a file of the program and has code."""
    for seed in SEEDS:
        program = KINDS[kind](seed)
        texts = {name: text.splitlines() for name, text in program.files}
        places = {p for value in program.truth.values for p in value.places}
        rows = [place.rpartition(":") for place in places]

        assert all(texts[name][int(row) - 1].strip(" )") for name, _, row in rows)


def test_extents_are_primes_of_one_line_or_value():
    """No two lines of a chain's programs make the same extent by the same op."""
    for seed in range(50):
        made = [
            (making.extent, op)
            for making in KINDS["chain"](seed).truth.makings
            for op in making.ops or ("",)
        ]

        assert len(set(made)) == len(made)


def test_moved_program_is_the_same_further_down():
    """An odd seed of `moved` gives the text of the even one after empty lines."""
    before, after = KINDS["moved"](4), KINDS["moved"](5)
    (text_before, text_after) = (p.files[-1][1] for p in (before, after))

    assert text_before == text_after.lstrip("\n")
    assert before.files[-1][0] != after.files[-1][0]


def test_sample_has_every_kind_and_operator():
    """The fixed programs cover each kind, and each operator by its own program."""
    programs = one_of_each()

    assert set(KINDS) == {program.kind for program in programs}
    assert len(OPERATORS) == sum(program.kind == "single" for program in programs)


def test_random_programs_are_of_all_kinds():
    """The random ones take every kind in turn, with rising seeds."""
    programs = random_programs(2 * len(KINDS), seed=7)

    assert [*KINDS, *KINDS] == [program.kind for program in programs]
    assert {7, 8} == {p.seed for p in programs if p.kind != "moved"}
