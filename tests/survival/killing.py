"""Writers that are killed at random instants: ``killing.py SEED COUNT DIRECTORY``.

Each writer is a child that publishes one bundle after another and reports each over a
pipe once `publish` has returned. Prints one JSON object with what was reported.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import time
from pathlib import Path

from attrs import evolve

from torch_spyre_provenance.model import Bundle
from torch_spyre_provenance.publish import Publisher
from torch_spyre_provenance.store import read_bundle

SUBJECT = Path(__file__).parents[1] / "bundles" / "simple_mlp_torch2.13.json"
LONGEST = 4.0
"""How long a writer lives at most, in the time that one bundle takes."""


def main(seed: str, count: str, directory: str) -> None:
    """Let that many writers live, one after another, for a random time each."""
    chance = random.Random(int(seed))  # noqa: S311  the instants need no secrecy
    value, root = read_bundle(SUBJECT), Path(directory)
    kernel = root / "kernel"
    kernel.mkdir(parents=True)
    files = tuple(evolve(f, directory=str(kernel)) for f in value.run.files)
    value = evolve(value, run=evolve(value.run, files=files))
    start = time.perf_counter()
    reported = [str(Publisher().publish(value, root / "out"))]
    longest = LONGEST * (time.perf_counter() - start)
    for number in range(int(count)):
        life = chance.random() * longest
        reported += run_writer(value, root / "out", number, life)
    json.dump({"reported": reported}, sys.stdout)


def run_writer(value: Bundle, root: Path, number: int, life: float) -> list[str]:
    """Return what a writer reported before it was killed."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        write_forever(value, root, number, writing)
    os.close(writing)
    time.sleep(life)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    with os.fdopen(reading) as pipe:
        lines = pipe.read().split("\n")
    return [line for line in lines if line]


def write_forever(value: Bundle, root: Path, number: int, pipe: int) -> None:
    """Publish bundles until the end."""
    try:
        while True:
            named = evolve(value, run=evolve(value.run, name=f"writer_{number}"))
            path = Publisher().publish(named, root)
            os.write(pipe, f"{path}\n".encode())
    finally:
        os._exit(1)


if __name__ == "__main__":
    main(*sys.argv[1:])
