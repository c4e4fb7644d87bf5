"""What generated modules call to make a kernel."""

from __future__ import annotations

import logging
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from torch._inductor.async_compile import AsyncCompile
from torch._inductor.runtime.runtime_utils import cache_dir

from .bundle import generate_bundle
from .op_spec import Spec, find_unimplemented
from .runner import SpyreSDSCKernelRunner, SpyreUnimplementedRunner

OUTPUT_FOLDER = "inductor-spyre"

_log = logging.getLogger("spyre.inductor.sdsc_compile")


class SpyreAsyncCompile(AsyncCompile):
    """Writes a kernel's directory and returns its runner.

    It runs while the generated module is imported, so on a cache hit too.
    """

    def sdsc(
        self,
        kernel_name: str,
        specs: Sequence[Spec],
        **options: Any,
    ) -> SpyreSDSCKernelRunner | SpyreUnimplementedRunner:
        """Make one kernel.

        Args:
            kernel_name: Its name in the generated module.
            specs: Its tree of specs.
            **options: Ignored; later releases of torch-spyre pass some.

        Returns:
            Its runner. Where the device lacks one of the ops there is no directory,
            and running raises.
        """
        lacking = find_unimplemented(specs)
        if lacking is not None:
            return SpyreUnimplementedRunner(kernel_name, lacking.op)
        directory = get_output_dir(kernel_name)
        generate_bundle(kernel_name, directory, specs)
        _log.info("wrote %s", directory)
        return SpyreSDSCKernelRunner(kernel_name, directory, specs)


def get_output_dir(kernel_name: str) -> str:
    """Make and return a new directory for a kernel."""
    parent = Path(cache_dir()) / OUTPUT_FOLDER
    parent.mkdir(parents=True, exist_ok=True)
    return tempfile.mkdtemp(dir=parent, prefix=f"{kernel_name}_")
