"""Running programs in processes of their own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path


def run_python(
    program: str, *args: object, cache: Path | None = None, **environ: str
) -> subprocess.CompletedProcess[str]:
    """Run a program in a fresh Python and return what became of it.

    Args:
        program: Its source.
        args: Its arguments.
        cache: Inductor's cache directory; by default this test worker's.
        environ: Environment variables to set.
    """
    env = {**os.environ, **environ}
    if cache is not None:
        env["TORCHINDUCTOR_CACHE_DIR"] = str(cache)
    return subprocess.run(
        [sys.executable, "-c", program, *map(str, args)],
        capture_output=True,
        text=True,
        check=False,
        env=env,
    )
