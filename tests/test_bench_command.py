"""The command `bench`."""

from __future__ import annotations

import json

from torch_spyre_provenance.cli import main


def test_costs_of_a_users_model(tmp_path, monkeypatch, capfd):
    """A model from the working directory is measured, and every sample is told."""
    (tmp_path / "small_bench_model.py").write_text(
        "import torch\n"
        "def double(x):\n"
        "    return x + x\n"
        "def make():\n"
        "    return double, torch.ones(2, 64)\n"
    )
    monkeypatch.chdir(tmp_path)
    code = main(["bench", "--model", "small_bench_model:make", "--rounds=2", "--json"])
    facts = json.loads(capfd.readouterr().out)

    assert 0 == code
    kinds = {(each["condition"], each["workload"]) for each in facts["samples"]}
    assert {("off", "fresh"), ("off again", "hit"), ("on", "runs")} <= kinds
    (found,) = (
        each
        for each in facts["comparisons"]
        if (each["condition"], each["workload"]) == ("on", "hit")
    )
    assert found["cpu"]["low"] <= found["cpu"]["value"] <= found["cpu"]["high"]
    assert 2 == found["n_rounds"]
    assert "processor" in facts["machine"]


def test_a_model_that_fails_is_an_error(capfd):
    """Its own message is in ours, and no traceback."""
    assert 1 == main(["bench", "--model", "no_such_module:make"])
    assert "cannot import no_such_module" in capfd.readouterr().err


def test_one_round_has_no_interval(capfd):
    """Less than two rounds is a usage error."""
    assert 2 == main(["bench", "--rounds", "1"])
    assert "--rounds" in capfd.readouterr().err
