"""When an observation, a pass or the whole compile fails."""

from __future__ import annotations

import pytest
import torch
from torch._inductor import config
from torch._inductor.custom_graph_pass import CustomGraphPass

import torch_spyre_provenance


class Meddler(CustomGraphPass):
    """A user's own pass."""

    def __init__(self, meddle):
        self.meddle = meddle

    def __call__(self, graph):
        """Do to the graph what the test wants."""
        self.meddle(graph)

    def uuid(self):
        """Return something that is never the same, so that no cache answers."""
        return repr(self)


def put_junk_into_meta(graph):
    """Leave a module stack behind that no reader expects."""
    for node in graph.nodes:
        node.meta["nn_module_stack"] = {"junk": 7}


def give_up(graph):
    """Break the compile off."""
    raise ArithmeticError("the pass gave up")


def double(x):
    """Return twice the input."""
    return x * 2


def run(out, option, meddle, *, strict=False):
    """Compile `double` with a user's pass in an option, and return the recording."""
    torch._dynamo.reset()
    with (
        torch_spyre_provenance.record(out=out, strict=strict) as recording,
        config.patch({option: Meddler(meddle)}),
    ):
        result = torch.compile(double)(torch.ones(8, 64).to("spyre"))
    assert torch.equal(torch.full((8, 64), 2.0), result.cpu())
    return recording


def test_observation_that_throws_leaves_the_compile_working(tmp_path):
    """Junk in a node's meta costs two stages their record, and nothing else."""
    recording = run(tmp_path, "pre_grad_custom_pass", put_junk_into_meta)
    bundle = recording.bundles[0].bundle

    assert None is bundle.fx_pre_grad
    assert 1 == len(bundle.ops)
    failures = {each.point: each for each in bundle.observations if each.failed}
    assert "pre_grad_graph" in failures
    assert failures["pre_grad_graph"].error.startswith("TypeError")


def test_strict_raises_what_an_observation_threw(tmp_path):
    """With `strict` the failure of an observation is the compile's."""
    with pytest.raises(torch._dynamo.exc.BackendCompilerFailed, match="TypeError"):
        run(tmp_path, "pre_grad_custom_pass", put_junk_into_meta, strict=True)


def test_compile_that_breaks_off_leaves_a_bundle(tmp_path):
    """The bundle says how far the compile came, and what ended it."""
    with pytest.raises(torch._dynamo.exc.BackendCompilerFailed, match="gave up"):
        run(tmp_path, "post_grad_custom_post_pass", give_up)

    (path,) = tmp_path.iterdir()
    bundle = torch_spyre_provenance.load(path)
    assert "ArithmeticError: the pass gave up" in bundle.compile.error
    assert bundle.fx_pre_grad is not None
    assert None is bundle.loop_ir_pre
    assert () == bundle.ops


def test_next_compile_is_not_touched_by_a_failed_one(tmp_path):
    """After a compile that broke off the process records the next one whole."""
    with pytest.raises(torch._dynamo.exc.BackendCompilerFailed):
        run(tmp_path / "one", "post_grad_custom_post_pass", give_up)

    recording = run(tmp_path / "two", "post_grad_custom_post_pass", lambda graph: None)

    (done,) = recording.bundles
    assert None is done.bundle.compile.error
    assert 1 == len(done.bundle.ops)


def test_unwritable_directory_costs_the_bundle_and_not_the_compile(tmp_path):
    """A directory that vanishes while compiling is counted; the result is right."""
    out = tmp_path / "out"
    recording = run(out, "post_grad_custom_post_pass", lambda graph: make_unusable(out))

    assert None is recording.bundles[0].path
    (publish,) = [o for o in recording.observations() if o.point == "publish"]
    assert 1 == publish.failed


def make_unusable(out):
    """Put a file where the directory for bundles was."""
    for path in out.iterdir():
        path.unlink()
    out.rmdir()
    out.write_text("in the way")
