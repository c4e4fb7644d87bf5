"""Many compiles at once: threads, processes, workers, ranks, one directory."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from torch_spyre_provenance.analysis.verification import verify
from torch_spyre_provenance.cli import main
from torch_spyre_provenance.store import find_bundles, read_bundle

PROGRAM = Path(__file__).with_name("programs.py")
N_PROCESSES = int(os.environ.get("SURVIVAL_PROCESSES", "2"))
N_COMPILES = int(os.environ.get("SURVIVAL_COMPILES", "3"))

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1200)]


def start(*arguments, cache, before=(), **environ):
    """Start a program in a process of its own."""
    env = {**os.environ, "TORCHINDUCTOR_CACHE_DIR": str(cache), **environ}
    return subprocess.Popen(
        [sys.executable, *before, PROGRAM, *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=env,
    )


def finished(process):
    """Return what a process printed, once it ended well."""
    printed, complaints = process.communicate()
    assert 0 == process.returncode, complaints
    return printed


def whole(out, count):
    """Return the bundles of a directory, which are that many, and all whole."""
    bundles = [read_bundle(path) for path in find_bundles(out)]
    assert count == len(bundles)
    for value in bundles:
        assert not [each for each in verify(value) if each.check.is_defect]
        assert not [point for point in value.all_observations if point.failed]
        assert value.kernels
        assert value.run.files
    return bundles


def test_processes_share_a_directory_and_a_cache(tmp_path):
    """Every compile of every process has its bundle, hit or miss."""
    out, cache = tmp_path / "out", tmp_path / "cache"
    running = [start("many", out, N_COMPILES, cache=cache) for _ in range(N_PROCESSES)]
    printed = [finished(process) for process in running]
    assert [f"{N_COMPILES}\n"] * N_PROCESSES == printed
    bundles = whole(out, N_PROCESSES * N_COMPILES)
    by_process = Counter(value.run.pid for value in bundles)
    assert {N_COMPILES} == set(by_process.values())
    assert N_PROCESSES == len(by_process)
    directories = [f.directory for value in bundles for f in value.run.files]
    assert len(directories) == len(set(directories))


def test_threads_have_a_bundle_each(tmp_path):
    """Compiles of several threads do not get mixed up, nor lost."""
    out = tmp_path / "out"
    assert "3\n" == finished(start("threads", out, 3, cache=tmp_path / "cache"))
    bundles = whole(out, 3)
    products = sorted(
        sum(op.op == "batchmatmul" for _, op in value.ops) for value in bundles
    )
    assert [1, 2, 3] == products


@pytest.mark.parametrize("method", ["fork", "spawn", "subprocess"])
def test_compile_workers_of_inductor_change_nothing(tmp_path, method):
    """However Inductor starts its workers, the parent alone records."""
    out = tmp_path / "out"
    process = start(
        "many",
        out,
        2,
        cache=tmp_path / "cache",
        TORCHINDUCTOR_WORKER_START=method,
        TORCHINDUCTOR_COMPILE_THREADS="2",
    )
    finished(process)
    assert {process.pid} == {value.run.pid for value in whole(out, 2)}


def test_workers_of_a_loader_record_nothing(tmp_path):
    """Processes that only fetch data leave no bundle and disturb none."""
    out = tmp_path / "out"
    assert "1\n" == finished(start("loader", out, cache=tmp_path / "cache"))
    whole(out, 1)


def test_a_forked_child_that_compiles_has_its_own_bundle(tmp_path):
    """The child goes on recording under its own process id."""
    out = tmp_path / "out"
    process = start("forked", out, cache=tmp_path / "cache")
    finished(process)
    pids = {value.run.pid for value in whole(out, 2)}
    assert 2 == len(pids)
    assert process.pid in pids


def test_two_jobs_share_a_cache(tmp_path):
    """The second job hits the entries of the first, and its bundles are its own."""
    cache, states = tmp_path / "cache", []
    for job in ("first", "second"):
        out = tmp_path / job
        finished(start("many", out, 1, cache=cache, TORCH_SPYRE_PROVENANCE_JOB=job))
        (value,) = whole(out, 1)
        states.append((value.run.job, str(value.run.cache)))
    assert [("first", "miss"), ("second", "hit")] == states


def test_torchrun_ranks_are_merged(tmp_path, capsys):
    """Four ranks leave four bundles per compile, and the view says who differs."""
    out = tmp_path / "out"
    torchrun = (
        "-m",
        "torch.distributed.run",
        *("--nproc-per-node", "4", "--rdzv-backend", "c10d"),
        *("--rdzv-endpoint", "localhost:0", "--rdzv-id", "training"),
    )
    finished(start("rank", out, cache=tmp_path / "cache", before=torchrun))
    bundles = whole(out, 8)
    assert {0: 2, 1: 2, 2: 2, 3: 2} == Counter(value.run.rank for value in bundles)
    main(["merge", str(out), "--json"])
    (job,) = json.loads(capsys.readouterr().out)["jobs"]
    assert ("training", 4, []) == (job["job"], job["world_size"], job["missing_ranks"])
    same, other = job["compiles"]
    assert same["uniform"]
    assert [0, 1, 2, 3] == sorted(m["rank"] for m in same["variants"][0]["members"])
    assert [[0, 1, 2], [3]] == [
        sorted(m["rank"] for m in variant["members"]) for variant in other["variants"]
    ]
    moved = other["variants"][1]["difference"]["moved"]
    assert {"usual", "special"} == {
        function_at(pair[side]["lines"][0]["line"])
        for pair in moved
        for side in ("before", "after")
    }


def function_at(line):
    """Return the name of the program's function that a line is in."""
    rows = PROGRAM.read_text().splitlines()[:line]
    heads = [row for row in rows if row.startswith("def ")]
    return heads[-1].removeprefix("def ").partition("(")[0]
