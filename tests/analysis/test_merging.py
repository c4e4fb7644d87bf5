"""The merged view: which ranks compiled what, and where they differ."""

from __future__ import annotations

from attrs import evolve
from bundle_factory import bundle, fx, ir, lines, run_facts

from torch_spyre_provenance.analysis.merging import merge
from torch_spyre_provenance.model import CacheState
from torch_spyre_provenance.report.jobs import jobs_facts, jobs_text


def compiled(rank=None, *, at=1, graph="0/0", **facts):
    """Return a bundle of a process, with one node of a line."""
    run = evolve(
        run_facts(f"r{rank}"),
        rank=rank,
        pid=100 + (rank or 0),
        compile_id=graph,
        **facts,
    )
    return bundle(
        stacks=lines(at),
        pre=(fx("a", "torch.relu", stack=0),),
        post=(fx("b", "aten.relu.default", stack=0, came_from=("a",)),),
        ir_post=(ir(0, "b"),),
        run=run,
    )


def merged(*bundles):
    """Return the merged view of bundles, each at a path of its own."""
    return merge((f"/out/{number}", each) for number, each in enumerate(bundles))


def test_equal_ranks_are_one_line():
    """Four ranks that compiled the same are uniform, whatever their run facts."""
    facts = {"job": "train", "world_size": 4}
    ranks = [compiled(rank, **facts) for rank in (2, 0, 3)]
    ranks.append(compiled(1, cache=CacheState.HIT, **facts))
    (job,) = merged(*ranks)
    (one,) = job.compiles
    assert job.is_uniform
    assert ("train", 4, ()) == (job.job, job.world_size, job.missing_ranks)
    assert ("rank 0", "rank 1", "rank 2", "rank 3") == job.processes
    assert [0, 1, 2, 3] == [member.rank for member in one.members]
    assert "  0_inference (inference, 0/0): rank 0, rank 1, rank 2, rank 3" in (
        jobs_text((job,)).splitlines()
    )


def test_a_rank_that_differs_is_told_with_what_differs():
    """The most common content comes first, and the other one is compared with it."""
    (job,) = merged(compiled(0), compiled(1, at=2), compiled(2))
    (one,) = job.compiles
    assert not job.is_uniform
    assert [[0, 2], [1]] == [[m.rank for m in each.members] for each in one.variants]
    assert one.variants[0].difference is None
    assert 1 == len(one.variants[1].difference.moved)
    text = jobs_text((job,))
    assert "! 0_inference (inference, 0/0): rank 0, rank 1, rank 2" in text
    assert "model.py:1 'line 1' -> model.py:2 'line 2'" in text


def test_a_rank_that_is_missing_or_skipped_a_compile_is_named():
    """No bundle at all, and none of one graph, are two things."""
    (job,) = merged(
        compiled(0, world_size=3),
        compiled(0, graph="1/0", world_size=3),
        compiled(2, world_size=3),
    )
    assert (1,) == job.missing_ranks
    assert [(), ("rank 2",)] == [each.absent for each in job.compiles]
    assert "! no bundle of rank 1" in jobs_text((job,))


def test_recompiles_of_one_graph_are_counted():
    """A graph that a process compiles again is another compile of the same name."""
    (job,) = merged(
        evolve(compiled(0), run=evolve(compiled(0).run, time="2026-08-01T12:00:00")),
        compiled(0),
    )
    assert [0, 1] == [each.occurrence for each in job.compiles]


def test_jobs_are_told_apart():
    """Two jobs may share a directory."""
    jobs = merged(compiled(0, job="b"), compiled(0, job="a"), compiled())
    assert [None, "a", "b"] == [job.job for job in jobs]
    facts = jobs_facts(jobs)
    assert facts["uniform"]
    assert ["laptop:100"] == facts["jobs"][0]["processes"]


def test_nothing_is_merged_from_nothing():
    """A directory without bundles has no job."""
    assert () == merged()
