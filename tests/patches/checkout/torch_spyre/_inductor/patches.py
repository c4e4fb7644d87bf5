"""The context of a compile: Inductor's options, with passes of the device's own."""

from contextlib import contextmanager

import torch
import torch._inductor


@contextmanager
def enable_spyre_context():
    """Set the options."""
    from torch_spyre._inductor.passes import (
        CustomPostFusionPasses,
        CustomPostPasses,
        CustomPreFusionPasses,
        CustomPreGradPasses,
        CustomPrePasses,
    )

    # The device's passes, and what else it wants.
    new_config = {
        "permute_fusion": False,
        "pre_grad_custom_pass": CustomPreGradPasses(),
        "post_grad_custom_pre_pass": CustomPrePasses(),
        "post_grad_custom_post_pass": CustomPostPasses(),
        "_pre_fusion_custom_pass": CustomPreFusionPasses(),
        "_post_fusion_custom_pass": CustomPostFusionPasses(),
    }
    with (
        torch.no_grad(),
        torch._inductor.config.patch(new_config),
    ):
        yield
