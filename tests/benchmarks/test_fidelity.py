"""Attributions against the truth: on the reference front end, none is wrong."""

from __future__ import annotations

import json

import pytest
from attrs import evolve

from benchmarks import fidelity
from benchmarks.execution import Run, Setup, run
from benchmarks.forgetting import forget
from benchmarks.kinds import KINDS, random_programs
from benchmarks.scores import Result, Verdict, judge
from benchmarks.truth import Expected
from torch_spyre_provenance.model import Evidence

ONE = Expected(allowed=frozenset({"m.py:3"}), needed="m.py:3")


def verdict(claimed=("m.py:3",), evidence=Evidence.MEASURED, handle="m.py:3"):
    """Return what is said of an op of line 3."""
    return Verdict(
        op="0_inference k 0 buf0 relufwd",
        expected=ONE,
        claimed=tuple(claimed),
        evidence=evidence,
        reason="own-stack" if claimed else "its stack trace was lost",
        handle=handle,
    )


def result(*verdicts, kind="chain", error=None):
    """Return the result of a program with these verdicts."""
    return Result(kind=kind, program=f"{kind}:0", verdicts=verdicts, error=error)


RIGHT = verdict()
WRONG = verdict(claimed=["m.py:4"], evidence=Evidence.INFERRED)
MISSING = verdict(claimed=(), evidence=Evidence.MISSING, handle=None)


def test_numbers():
    """Ops are counted by evidence and wrongness, for us and for the handles."""
    numbers = fidelity.as_json([result(RIGHT, WRONG, MISSING), result(kind="loop")])

    chain = {
        "ops": 3,
        "measured": 1,
        "inferred": 1,
        "missing": 1,
        "wrong": 1,
        "front_end": {
            "ops": 3,
            "measured": 2,
            "inferred": 0,
            "missing": 1,
            "wrong": 0,
        },
    }
    none = {name: 0 for name in chain if name != "front_end"}
    loop = {**none, "front_end": none}
    assert {**chain, "kinds": {"chain": chain, "loop": loop}} == numbers


def test_table_has_a_row_for_each_kind_and_the_total():
    """The table says the same as the numbers, in rows."""
    head, names, chain, total = fidelity.table([result(RIGHT, WRONG)]).splitlines()

    assert "| the front end's own handles" == head.strip()
    assert names.split()[:3] == ["kind", "programs", "ops"]
    assert ["chain", "1", "2", "1", "1", "0", "1", "|", "2", "0", "0"] == chain.split()
    assert ["total", *chain.split()[1:]] == total.split()


@pytest.mark.parametrize(
    ("results", "code"),
    [
        ([result(RIGHT, MISSING)], 0),
        ([result(RIGHT), result(RIGHT, error="RuntimeError: no")], 1),
        ([result(WRONG), result(RIGHT, error="RuntimeError: no")], 3),
        ([result(RIGHT), result(error="no such address (m.py:3) [unsupported]")], 0),
    ],
)
def test_exit_code(results, code, capsys):
    """Wrong lines are a verdict (3), programs that do not compile an error (1)."""
    assert code == fidelity.report(results, json_form=True)
    assert fidelity.as_json(results) == json.loads(capsys.readouterr().out)


def test_torch_spyre_need_not_compile_everything(capsys):
    """What torch-spyre does not support fails nothing."""
    results = [result(RIGHT), result(error="RuntimeError: no")]

    assert 0 == fidelity.report(results, must_compile=False)
    printed = capsys.readouterr()
    assert fidelity.table(results) + "\n" == printed.out
    assert "1 programs were not compiled whole\n" == printed.err


def test_ops_without_a_truth_are_told(capsys):
    """Ops that the benchmark knows nothing of are counted aloud."""
    unknown = evolve(RIGHT, expected=Expected(allowed=frozenset()))

    fidelity.report([result(unknown, RIGHT)])

    assert "1 ops whose extents tell no line\n" == capsys.readouterr().err


def test_details_let_one_reproduce():
    """The list of what is not right names program, op, claimed and true line."""
    found = result(RIGHT, WRONG, MISSING, error="RuntimeError: no")

    failure, wrong, missing = fidelity.details(found, everything=True)
    assert "chain:0 was not compiled: RuntimeError: no" == failure
    assert (
        "wrong: chain:0 0_inference k 0 buf0 relufwd: true m.py:3, claimed m.py:4 "
        "(inferred, own-stack), handle m.py:3"
    ) == wrong
    assert missing.startswith("missing: chain:0")
    assert [failure, wrong] == list(fidelity.details(found, everything=False))


def test_name_gives_the_program():
    """A program is named by kind and seed, as the list of problems names it."""
    program = KINDS["chain"](12)

    assert program == fidelity.named_program(program.name)


@pytest.mark.parametrize("name", ["chain", "chain:", "chain:x", "bridge:1", ""])
def test_bad_name(name, capsys):
    """A name that means nothing is a usage error, which lists the kinds."""
    with pytest.raises(SystemExit) as exit_:
        fidelity.main(["--only", name])

    assert 2 == exit_.value.code
    assert "one of the kinds single, chain" in capsys.readouterr().err


@pytest.fixture(scope="module")
def setup(tmp_path_factory):
    """Return how programs are compiled: on the reference front end."""
    return Setup(work=tmp_path_factory.mktemp("fidelity"))


def _problems(found):
    """Return the ops that are wrong, or missing for no reason."""
    return [
        (found.program, each.op, each.claimed, str(each.expected))
        for each in found.verdicts
        if each.is_wrong or not (each.claimed or each.reason)
    ]


SEEDS = {"views": 2}
"""Seeds other than 1: views:1 slices across a stick, which the front end refuses."""


@pytest.fixture(scope="module")
def runs(setup):
    """Return what was recorded of a program of each kind."""
    return [run(kind(SEEDS.get(name, 1)), setup) for name, kind in KINDS.items()]


@pytest.mark.parametrize("kind", KINDS)
def test_kind(kind, runs):
    """A program of each kind has all its ops attributed, none wrongly."""
    found = judge(runs[list(KINDS).index(kind)])

    assert found.error is None
    assert found.verdicts
    assert [] == _problems(found)
    assert [] == [each.op for each in found.verdicts if each.is_open]


def test_random_programs(setup):
    """The same holds for programs that nobody chose."""
    programs = random_programs(6, seed=100)
    found = [judge(run(program, setup)) for program in programs]

    assert [None] * 6 == [each.error for each in found]
    assert [] == [problem for each in found for problem in _problems(each)]


@pytest.mark.parametrize("name", ["chain:32", "inplace:26", "helper:26"])
def test_fused_lines_stay_apart(name, setup):
    """A product and an addition that Inductor joins keep the lines that they are on."""
    found = judge(run(fidelity.named_program(name), setup))

    assert [] == _problems(found)
    assert {"add", "batchmatmul"} <= {each.op.split()[-1] for each in found.verdicts}


@pytest.mark.parametrize("share", [0.2, 0.5, 0.8, 0.95])
def test_no_line_is_wrong_where_traces_are_lost(share, runs):
    """What passes may lose, the rules conclude rightly or leave open."""
    found = [judge(forget(each, share)) for each in runs]
    whole = [judge(each) for each in runs]

    assert [] == [problem for each in found for problem in _problems(each)]
    numbers, before = fidelity.as_json(found), fidelity.as_json(whole)
    assert before["inferred"] < numbers["inferred"] + numbers["missing"]
    assert before["ops"] == numbers["ops"]


def test_a_part_of_what_was_lost_is_concluded(runs):
    """Where a tenth of the traces is lost, most lines of those ops are still known."""
    found = fidelity.as_json([judge(forget(each, 0.1)) for each in runs])
    whole = fidelity.as_json(map(judge, runs))

    n_lost = whole["measured"] - found["measured"]
    assert 0 < found["missing"] < n_lost / 2


def test_backward_has_two_graphs(setup):
    """A training step is compiled as a forward and a backward graph."""
    ran = run(KINDS["backward"](1), setup)

    assert ["forward", "backward"] == [str(b.compile.kind) for b in ran.bundles]


def test_wrong_lines_are_found(setup):
    """A recording that names the wrong lines is caught (so the benchmark can fail)."""
    ran = run(KINDS["chain"](3), setup)
    (bundle,) = ran.bundles
    off_by_one = tuple(
        tuple(evolve(frame, line=frame.line + 1) for frame in stack)
        for stack in bundle.stacks
    )
    tampered = evolve(bundle, stacks=off_by_one)

    found = judge(
        Run(program=ran.program, directory=ran.directory, bundles=(tampered,))
    )

    assert found.verdicts
    assert all(each.is_wrong for each in found.verdicts if each.claimed)
