"""The reference front end, registered for every test here, and what it compiled."""

from __future__ import annotations

import pytest
import torch
import torch._functorch.config as functorch_config
import torch._inductor.config as inductor_config
from attrs import field, frozen
from torch._inductor.codegen.common import register_backend_for_device

from torch_spyre_provenance.frontends import reference
from torch_spyre_provenance.frontends.contract import DEVICE
from torch_spyre_provenance.frontends.reference.fx_passes import Chain
from torch_spyre_provenance.frontends.reference.op_spec import OpSpec, Spec, walk


@frozen
class Compiled:
    """What the compiles of one test made."""

    kernels: list[tuple[str, list[Spec]]] = field(factory=list)
    sources: list[str] = field(factory=list)
    buffers: dict[str, object] = field(factory=dict)
    scheduling: list[type] = field(factory=list)

    @property
    def ops(self) -> list[list[str]]:
        """The device ops of each kernel."""
        return [[spec.op for spec in walk(specs)] for _, specs in self.kernels]

    @property
    def specs(self) -> list[OpSpec]:
        """Every op of every kernel."""
        return [spec for _, specs in self.kernels for spec in walk(specs)]


@pytest.fixture
def compiled():
    """Register the front end so that its kernels are kept, and switch caches off."""
    front_end = reference.load()
    kept = Compiled()

    class Keeping(front_end.scheduling):
        def define_kernel(self, src_code, node_schedule, kernel):
            name = super().define_kernel(src_code, node_schedule, kernel)
            kept.kernels.append((name, kernel.op_specs))
            kept.sources.append(src_code)
            kept.buffers.update((n.node.get_name(), n.node) for n in node_schedule)
            return name

    kept.scheduling.append(Keeping)
    register_backend_for_device(
        DEVICE,
        Keeping,
        front_end.wrapper,
        device_custom_pass=Chain(front_end.fx_pass, front_end.lowering_pass),
        device_custom_config=front_end.config,
    )
    torch._dynamo.reset()
    with (
        inductor_config.patch(fx_graph_cache=False),
        functorch_config.patch(enable_autograd_cache=False),
    ):
        yield kept
    torch._dynamo.reset()
    reference.register()
