"""The Dynamo backend ``spyre_provenance``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch._inductor import compile_fx as inductor
from torch._inductor import config, list_mode_options

from .activation import recording_for_backend
from .frontends.contract import DEVICE
from .recording.fx import uses_device
from .recording.off_device import compile_off_device
from .recording.passes import record_pre_grad


def spyre_provenance(
    gm: torch.fx.GraphModule,
    example_inputs: Sequence[Any],
    *,
    mode: str | None = None,
    options: dict[str, Any] | None = None,
) -> Any:
    """Compile a graph with Inductor as usual, and record it.

    ``torch.compile(model, backend="spyre_provenance")`` finds this function by its
    entry point. It turns recording on for the process where nothing did so before.

    Args:
        gm: Dynamo's graph.
        example_inputs: Its inputs.
        mode: `torch.compile`'s mode, as Inductor knows them.
        options: `torch.compile`'s options for Inductor.

    Returns:
        The compiled graph, just as Inductor returns it.
    """
    session = recording_for_backend()
    record_pre_grad(session, gm.graph)
    patches = {**(list_mode_options(mode) if mode else {}), **(options or {})}
    # `compile_fx` is looked up when called, because torch-spyre puts a function of its
    # own there; and options are set around it, because with `config_patches` that
    # function would be entered twice.
    with config.patch(patches):
        if not uses_device(gm.graph, DEVICE):
            return compile_off_device(session, gm, example_inputs)
        if not patches:
            return inductor.compile_fx(gm, list(example_inputs))
        # The backward graph is compiled later, when this block is over.
        inner = config.patch(patches)(inductor.compile_fx_inner)
        return inductor.compile_fx(gm, list(example_inputs), inner_compile=inner)
