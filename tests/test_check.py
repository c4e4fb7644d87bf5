"""The command ``check``: a gate for continuous builds."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from attrs import evolve
from bundle_factory import BUNDLES, recorded

from torch_spyre_provenance.cli import main
from torch_spyre_provenance.store.codec import dumps

GOOD = str(BUNDLES / "simple_mlp_torch2.13.json")
GATE = ["--min-attributed", "100%", "--max-inferred", "25%", "--no-loss"]
DOC = Path(__file__).parents[1] / "docs" / "gate.md"


@pytest.fixture
def lossy(tmp_path):
    """Write a bundle in which an operation lost an origin, and return its path."""
    bundle = recorded("simple_mlp_torch2.13")
    first, *rest = bundle.loop_ir_post.ops
    post = evolve(bundle.loop_ir_post, ops=(evolve(first, origins=()), *rest))
    path = tmp_path / "lossy.json"
    path.write_bytes(dumps(evolve(bundle, passes=None, loop_ir_post=post)))
    return str(path)


def test_good_bundle_exits_with_0(capsys):
    """A bundle within its limits says so in one line."""
    assert 0 == main(["check", GOOD, *GATE])
    assert "good: 5 of 5 ops have a line, 0 of them inferred" in capsys.readouterr().out


def test_broken_limit_exits_with_3(capsys, lossy):
    """One bundle of several that breaks a limit decides, and is explained."""
    assert 3 == main(["check", GOOD, lossy, *GATE])

    printed = capsys.readouterr().out
    assert "NOT GOOD" in printed
    assert "op0 (buf0) lost origins mm_default_1, permute" in printed


def test_json_is_one_object_by_path(capsys, lossy):
    """With ``--json`` each bundle's verdict stands under its path."""
    assert 3 == main(["check", GOOD, lossy, *GATE, "--json"])

    verdicts = json.loads(capsys.readouterr().out)
    assert {GOOD: True, lossy: False} == {p: v["good"] for p, v in verdicts.items()}
    limits = [offence["limit"] for offence in verdicts[lossy]["offences"]]
    assert "no-loss" in limits


@pytest.mark.parametrize("share", ["250%", "-1%", "many", "2"])
def test_share_that_means_nothing_is_a_usage_error(capsys, share):
    """A share outside of 0 to 100 % exits with 2 and names itself."""
    assert 2 == main(["check", GOOD, "--max-inferred", share])
    assert repr(share) in capsys.readouterr().err


def test_no_bundle_is_an_error(capsys, tmp_path):
    """A file that is no bundle exits with 1 and one line."""
    (tmp_path / "x.json").write_text("{")

    assert 1 == main(["check", str(tmp_path / "x.json")])
    assert capsys.readouterr().err.rstrip().endswith("[bundle-format]")


def test_documented_command_is_the_tested_one():
    """The gate that the docs show is the one that these tests run."""
    assert f"spyre-provenance check audit/*/ {' '.join(GATE)}" in DOC.read_text()
