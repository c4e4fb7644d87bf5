"""What goes wrong while a bundle is written costs the bundle, never the compile."""

from __future__ import annotations

import errno
import json
import logging
import os
import resource
import shutil
import subprocess
from contextlib import contextmanager
from pathlib import Path

import pytest
import torch
from attrs import evolve
from bundle_factory import bundle, recorded, run_facts
from process import run_python

import torch_spyre_provenance
from torch_spyre_provenance.errors import OutputError
from torch_spyre_provenance.model import Redaction
from torch_spyre_provenance.publish import Publisher
from torch_spyre_provenance.recording.points import Point
from torch_spyre_provenance.store import find_bundles, read_bundle, write_bundle

NOBODY = 65534


@pytest.fixture
def compiled():
    """Return a function that compiles a program anew and returns what it computes."""

    def run(number):
        torch._dynamo.reset()
        x = torch.ones(64, 64).to("spyre")
        return torch.compile(lambda x: torch.relu(x @ x) + number)(x).cpu()

    yield run
    torch._dynamo.reset()


@contextmanager
def unprivileged():
    """Do without root's right to write everywhere."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)


def test_a_directory_that_vanishes_for_good_costs_the_bundles_alone(
    compiled, tmp_path, caplog
):
    """The compiles go on; each loss is counted, the first one is told."""
    out = tmp_path / "out"
    with (
        caplog.at_level(logging.WARNING, logger="torch_spyre_provenance"),
        torch_spyre_provenance.record(out=out) as recording,
    ):
        shutil.rmtree(out)
        out.write_text("a file in the way")
        for number in (1, 2):
            expected = torch.full((64, 64), 64.0 + number)
            assert torch.equal(expected, compiled(number))
    failed = {each.point: each.failed for each in recording.observations()}
    assert 2 == failed[Point.PUBLISH]
    assert 1 == len([row for row in caplog.records if "publish" in row.getMessage()])
    assert [None, None] == [each.path for each in recording.bundles]
    assert all(each.bundle.kernels for each in recording.bundles)


def test_a_directory_that_was_removed_is_made_again(compiled, tmp_path):
    """Somebody who cleans up does not end the recording."""
    out = tmp_path / "out"
    with torch_spyre_provenance.record(out=out, strict=True) as recording:
        shutil.rmtree(out)
        compiled(3)
    (made,) = recording.bundles
    assert made.bundle == read_bundle(made.path)


def test_kernel_directories_that_vanish_cost_their_records_alone(compiled, tmp_path):
    """A cache that is cleaned while the program runs takes nothing else along."""
    with torch_spyre_provenance.record(out=tmp_path / "out") as recording:
        compiled(4)
        for files in recording.bundles[0].bundle.run.files:
            shutil.rmtree(files.directory)
    (made,) = recording.bundles
    assert made.bundle == read_bundle(made.path)


def test_settings_reach_the_writer(compiled, tmp_path, monkeypatch):
    """Redacted, compressed and limited in number: as the environment asks."""
    for name, value in {"REDACT": "all", "COMPRESS": "0", "KEEP": "1"}.items():
        monkeypatch.setenv(f"TORCH_SPYRE_PROVENANCE_{name}", value)
    with torch_spyre_provenance.record(out=tmp_path / "out", strict=True) as recording:
        for number in (5, 6):
            compiled(number)
    (path,) = find_bundles(tmp_path / "out")
    assert recording.bundles[-1].path == path
    assert (path / "bundle.json.zst").is_file()
    value = read_bundle(path)
    assert Redaction.ALL is value.redaction
    assert not any(__file__ in frame.file for s in value.stacks for frame in s)


def test_no_permission_is_an_output_error(tmp_path):
    """A directory of somebody else stays as it is."""
    root = tmp_path / "root"
    root.mkdir(mode=0o500)
    for parent in (*tmp_path.parents[:2], tmp_path):
        parent.chmod(0o755)
    with unprivileged(), pytest.raises(OutputError, match="Permission denied"):
        write_bundle(root, bundle(), {})
    assert [] == list(root.iterdir())


FULL = """
import resource, sys
from pathlib import Path
from torch_spyre_provenance.errors import OutputError
from torch_spyre_provenance.store import read_bundle, write_bundle
value = read_bundle(Path(sys.argv[1]))
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, resource.RLIM_INFINITY))
try:
    write_bundle(Path(sys.argv[2]), value, {"report.md": b"x" * 100})
except OutputError as error:
    print(error)
"""


def test_a_file_that_may_not_grow_leaves_nothing_behind(tmp_path):
    """The system stops the write in its middle; what was begun is taken back."""
    source = Path(__file__).parents[1] / "bundles" / "simple_mlp_torch2.13.json"
    done = run_python(FULL, source, tmp_path / "out")
    assert os.strerror(errno.EFBIG) in done.stdout, done.stderr
    assert [] == list((tmp_path / "out").iterdir())
    assert resource.RLIM_INFINITY  # this process has no such limit


@pytest.fixture
def full_disk(tmp_path):
    """A file system of 64 KiB, where this user may mount one."""
    place = tmp_path / "full"
    place.mkdir()
    options = "size=64k,nr_inodes=32"
    command = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(place)]
    done = subprocess.run(command, capture_output=True, check=False)
    if done.returncode:
        pytest.skip("this user may not mount a file system")
    yield place
    subprocess.run(["umount", "-l", str(place)], check=True)


def test_a_full_disk_holds_whole_bundles_alone(full_disk):
    """Bundles are written until one does not fit, and that one leaves nothing."""
    value = recorded("plain_weight_torch2.13")
    written = []

    def fill():
        while True:
            written.append(write_bundle(full_disk, value, {}))

    with pytest.raises(OutputError, match="No space left"):
        fill()
    assert 0 < len(written)
    assert tuple(sorted(written)) == find_bundles(full_disk)
    assert sorted(written) == sorted(full_disk.iterdir())
    assert all(value == read_bundle(path) for path in written)


@pytest.mark.parametrize("name", ["x" * 5000, "ä" * 200, "日" * 255])
def test_a_graph_of_any_name_has_its_directory(tmp_path, name):
    """The system counts bytes of a name, and a bundle's name is cut to fit."""
    value = evolve(bundle(), run=run_facts(name))
    assert value == read_bundle(write_bundle(tmp_path, value, {}))


def test_a_path_that_is_too_long_is_an_output_error(tmp_path):
    """One line says what the system said."""
    with pytest.raises(OutputError, match="File name too long"):
        write_bundle(tmp_path / ("x" * 300), bundle(), {})


def test_links_planted_in_a_shared_directory_are_not_followed(tmp_path):
    """Neither a bundle's directory nor a kernel's record is written through a link."""
    outside = tmp_path / "outside"
    outside.mkdir()
    victim = outside / "victim"
    victim.write_text("mine")
    root, kernel = tmp_path / "root", tmp_path / "kernel"
    root.mkdir()
    kernel.mkdir()
    value = recorded("simple_mlp_torch2.13")
    files = tuple(evolve(each, directory=str(kernel)) for each in value.run.files)
    value = evolve(value, run=evolve(value.run, files=files))
    (root / value.run.name).symlink_to(outside)
    (kernel / "provenance.json").symlink_to(victim)

    directory = Publisher().publish(value, root)

    assert root / f"{value.run.name}-1" == directory
    assert "mine" == victim.read_text()
    assert [victim] == list(outside.iterdir())
    assert 5 == len(json.loads((kernel / "provenance.json").read_text())["ops"])
    assert not (kernel / "provenance.json").is_symlink()


def test_a_clock_that_jumps_changes_no_name(tmp_path):
    """Directories are told apart by process and number, not by the time."""
    times = ("2031-01-01T00:00:00+00:00", "1970-01-01T00:00:00+00:00")
    made = [
        write_bundle(tmp_path, evolve(bundle(), run=evolve(run_facts(), time=time)), {})
        for time in times
    ]
    assert 2 == len(set(made))
    assert list(times) == [read_bundle(path).run.time for path in made]
