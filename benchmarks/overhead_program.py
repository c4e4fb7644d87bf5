"""A program as people run them: it compiles one model, calls it, and ends.

    python -m benchmarks.overhead_program SUBJECT

It is the same with recording off and on; the environment says which. The device's
plain compiler is registered by hand where recording has not done so.
"""

from __future__ import annotations

import os
import sys

import torch

from .overhead_subjects import make


def main() -> None:
    """Compile and call the model that the command line names."""
    if "TORCH_SPYRE_PROVENANCE" not in os.environ:
        from torch_spyre_provenance.frontends import reference

        reference.register()
    model = make(sys.argv[1])
    inputs = tuple(x.to("spyre") for x in model.inputs)
    compiled = torch.compile(model.module.to("spyre"), dynamic=False)
    with torch.set_grad_enabled(model.trains):
        result = compiled(*inputs)
        if model.trains:
            result.sum().backward()


if __name__ == "__main__":
    main()
