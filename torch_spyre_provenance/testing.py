"""A test's helper: a model is compiled, and every op must have its line."""

from __future__ import annotations

import copy
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch.utils._pytree import tree_map_only

from .activation import record
from .analysis.gate import Limits, judge
from .backend import spyre_provenance
from .frontends.contract import DEVICE
from .model import Bundle
from .summary import verdict_text


def assert_attributed(
    model: Callable[..., Any],
    *inputs: Any,
    min_attributed: float = 1.0,
    max_inferred: float | None = None,
    no_loss: bool = False,
) -> tuple[Bundle, ...]:
    """Assert that a model compiles for the device and that its ops have lines.

        def test_my_model_keeps_its_lines():
            assert_attributed(MyModel(), torch.randn(2, 64))

    The model is compiled anew, as a copy on the device and without gradients, and run
    once. For that, everything that this process has compiled is forgotten.

    Args:
        model: A module, or another callable; it stays where it is.
        *inputs: Its inputs; tensors are moved to the device.
        min_attributed: Least share of device ops that have a line, 0 to 1.
        max_inferred: Greatest share of device ops whose line was concluded by a rule;
            None for any.
        no_loss: Whether a pass that loses provenance is a failure too.

    Returns:
        The bundle of each graph that was compiled, for further assertions.

    Raises:
        AssertionError: Nothing was compiled for the device, or a limit is broken; the
            message has the ops.
    """
    torch.compiler.reset()
    with tempfile.TemporaryDirectory() as out:
        with record(out=Path(out), strict=True) as recording, torch.no_grad():
            own = copy.deepcopy(model)
            own = own.to(DEVICE) if isinstance(own, torch.nn.Module) else own
            moved = tree_map_only(torch.Tensor, lambda host: host.to(DEVICE), inputs)
            torch.compile(own, backend=spyre_provenance)(*moved)
        bundles = tuple(done.bundle for done in recording.bundles)
    limits = Limits(
        min_attributed=min_attributed, max_inferred=max_inferred, no_loss=no_loss
    )
    verdicts = [(Path(each.run.name), judge(each, limits)) for each in bundles]
    if not any(bundle.ops for bundle in bundles):
        raise AssertionError("nothing was compiled for the device")
    broken = [verdict_text(name, each) for name, each in verdicts if not each.is_good]
    if broken:
        raise AssertionError("\n".join(broken))
    return bundles
