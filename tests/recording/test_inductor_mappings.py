"""A bundle beside what Inductor itself notes of the same compile."""

from __future__ import annotations

import torch
from torch._inductor import config
from torch._inductor.utils import fresh_cache

import torch_spyre_provenance
from torch_spyre_provenance.cli import main
from torch_spyre_provenance.simple_mlp import SimpleMLP

FILE = "inductor_provenance_tracking_node_mappings.json"


def test_inductor_knows_nothing_that_the_bundle_lacks(tmp_path, capsys):
    """The file in its debug directory; it does not know where the products are from."""
    torch._dynamo.reset()
    tracking = {
        "trace.enabled": True,
        "trace.debug_dir": str(tmp_path / "debug"),
        "trace.provenance_tracking_level": 1,
    }
    with (
        fresh_cache(),
        config.patch(tracking),
        torch_spyre_provenance.record(out=tmp_path / "out") as recording,
        torch.no_grad(),
    ):
        model = SimpleMLP().half().to("spyre")
        torch.compile(model)(torch.ones(2, 128).half().to("spyre"))
    (made,) = recording.bundles
    (file,) = (tmp_path / "debug").rglob(FILE)
    capsys.readouterr()

    assert 0 == main(["diff", str(file), str(made.path), "--fail"])
    assert capsys.readouterr().out.splitlines() == [
        "  node     mm_default: gained x_2",
        "  node     mm_default_1: gained x",
    ]
