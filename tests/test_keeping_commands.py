"""The commands verify, prune and merge, from the command line."""

from __future__ import annotations

import json
import os

import pytest
from attrs import evolve
from bundle_factory import recorded

from torch_spyre_provenance.cli import ExitCode, main
from torch_spyre_provenance.publish import Publisher
from torch_spyre_provenance.store import find_bundles, write_bundle
from torch_spyre_provenance.store.kernel_files import read_kernel_files

SDSC = '{"0_add": {"debug_handle_": null}}'


@pytest.fixture
def on_disk(tmp_path):
    """A bundle whose kernel and module lie on this disk, as recorded."""
    value = recorded("simple_mlp_torch2.13")
    kernel = tmp_path / "kernel"
    kernel.mkdir()
    for number in range(2):
        (kernel / f"sdsc_{number}.json").write_text(SDSC)
    (kernel / "bundle.mlir").write_text('sdsc_filename = "sdsc_0.json"')
    files = read_kernel_files(value.kernels[0].name, kernel)
    run = evolve(value.run, files=(files,), module=None)
    return write_bundle(tmp_path / "out", evolve(value, run=run), {}), kernel


def verified(path, *options, capsys):
    """Return the exit code of ``verify``, and the checks that found something."""
    code = main(["verify", str(path), "--json", *options])
    (facts,) = json.loads(capsys.readouterr().out).values()
    return code, sorted({each["check"] for each in facts["findings"]})


def test_untouched_files_verify(on_disk, capsys):
    """What was just written is as it was written."""
    path, _ = on_disk
    assert (ExitCode.OK, []) == verified(path, capsys=capsys)


def test_changed_files_are_a_verdict(on_disk, capsys):
    """Changed, missing and added files are found, and only where they are looked at."""
    path, kernel = on_disk
    (kernel / "sdsc_0.json").write_text(SDSC + " ")
    (kernel / "sdsc_1.json").unlink()
    (kernel / "sdsc_2.json").write_text(SDSC)
    found = (ExitCode.VERDICT, ["added", "changed", "missing"])
    assert found == verified(path, capsys=capsys)
    only = (ExitCode.OK, [])
    assert only == verified(path, "--bundle-only", capsys=capsys)


def test_a_pipe_in_the_place_of_a_file_does_not_hang(on_disk, capsys):
    """A stranger's directory may hold anything; only regular files are read."""
    path, kernel = on_disk
    (kernel / "sdsc_0.json").unlink()
    os.mkfifo(kernel / "sdsc_0.json")
    assert ExitCode.VERDICT == verified(path, capsys=capsys)[0]


def test_what_is_no_bundle_is_an_error(tmp_path, capsys):
    """Verifying begins with reading."""
    (tmp_path / "bundle.json").write_text("{}")
    assert ExitCode.ERROR == main(["verify", str(tmp_path)])
    assert "[bundle-format]" in capsys.readouterr().err


def test_findings_are_readable(on_disk, capsys):
    """A defect is marked, and its file is named."""
    path, kernel = on_disk
    (kernel / "sdsc_1.json").unlink()
    main(["verify", str(path)])
    rows = capsys.readouterr().out.splitlines()
    assert f"{path}: 1 defects" == rows[0]
    assert f"! missing   {kernel}/sdsc_1.json: the file is gone" == rows[1]


def test_prune_tells_what_it_did(tmp_path, capsys):
    """Looking first removes nothing; then it is the same, done."""
    for _ in range(3):
        Publisher().publish(
            evolve(recorded("simple_mlp_torch2.13"), run=bare()), tmp_path
        )
    arguments = ["prune", str(tmp_path), "--keep", "1", "--json"]
    assert ExitCode.OK == main([*arguments, "--dry-run"])
    planned = json.loads(capsys.readouterr().out)
    assert 3 == len(find_bundles(tmp_path))
    assert ExitCode.OK == main(arguments)
    assert planned == json.loads(capsys.readouterr().out)
    assert planned["kept"] == [str(path) for path in find_bundles(tmp_path)]


def test_merge_tells_processes_apart(tmp_path, capsys):
    """Two ranks of different torch releases differ, and the exit code can say so."""
    for rank, name in enumerate(("simple_mlp_torch2.11", "simple_mlp_torch2.13")):
        value = recorded(name)
        run = evolve(value.run, rank=rank, world_size=2, job="j", pid=rank)
        write_bundle(tmp_path / str(rank), evolve(value, run=run), {})
    assert ExitCode.OK == main(["merge", str(tmp_path), "--json"])
    (job,) = json.loads(capsys.readouterr().out)["jobs"]
    assert ["rank 0", "rank 1"] == job["processes"]
    assert 2 == len(job["compiles"][0]["variants"])
    assert ExitCode.VERDICT == main(["merge", str(tmp_path), "--fail"])
    assert "! 0_inference (inference, 0/0): rank 0, rank 1" in capsys.readouterr().out


def test_merge_of_nothing_says_so(tmp_path, capsys):
    """An empty directory is no error."""
    assert ExitCode.OK == main(["merge", str(tmp_path)])
    assert "no bundles\n" == capsys.readouterr().out


def bare():
    """Return run facts that name no kernel directory."""
    return evolve(recorded("simple_mlp_torch2.13").run, files=())
