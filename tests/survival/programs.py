"""Programs that record themselves: each is run as ``programs.py NAME ARGUMENTS``.

They import nothing of the tests, so that they can be started in any way: by torchrun,
many at a time, with workers of their own.
"""

from __future__ import annotations

import os
import sys
import threading

import torch

import torch_spyre_provenance


def step(x, number):
    """Compute something that depends on a number in its graph, not in its shape."""
    for _ in range(1 + number % 4):
        x = torch.relu(x @ x)
    return x * float(number + 1)


def layer(x):
    """Compute the same on every rank."""
    return torch.relu(x @ x) + 1


def usual(x):
    """Compute it once more."""
    return torch.relu(x @ x) + 1


def special(x):
    """Compute it on another line."""
    return torch.relu(x @ x) + 1


def host_data():
    """Return a small tensor on the device."""
    return torch.ones(64, 64).to("spyre")


def many(out, count):
    """Compile different graphs one after another."""
    with torch_spyre_provenance.record(out=out, strict=True) as recording:
        for number in range(int(count)):
            torch._dynamo.reset()
            torch.compile(step, dynamic=False)(host_data(), number)
    return len(recording.bundles)


def threads(out, count):
    """Compile in several threads at the same time."""
    found = {}

    def work(number):
        compiled = torch.compile(lambda x: step(x, number), dynamic=False)
        found[number] = compiled(host_data()).cpu()

    with torch_spyre_provenance.record(out=out) as recording:
        workers = [
            threading.Thread(target=work, args=(number,))
            for number in range(int(count))
        ]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
    for number, value in found.items():
        assert torch.equal(value, step(torch.ones(64, 64), number)), number
    return len(recording.bundles)


class Data(torch.utils.data.Dataset):
    """Host tensors for a loader's workers."""

    def __len__(self):
        return 6

    def __getitem__(self, index):
        return torch.full((64,), float(index))


def loader(out):
    """Compile while the workers of a DataLoader live, forked from this process."""
    with torch_spyre_provenance.record(out=out, strict=True) as recording:
        compiled = torch.compile(layer)
        batches = torch.utils.data.DataLoader(
            Data(), batch_size=2, num_workers=2, multiprocessing_context="fork"
        )
        for batch in batches:
            compiled((batch.T @ batch).to("spyre"))
    return len(recording.bundles)


def forked(out):
    """Compile in the parent and in a child that was forked while recording."""
    with torch_spyre_provenance.record(out=out, strict=True):
        torch.compile(layer)(host_data())
        child = os.fork()
        if child == 0:
            try:
                torch._dynamo.reset()
                torch.compile(special)(host_data())
            finally:
                os._exit(0)
        os.waitpid(child, 0)
    return 1


def rank(out):
    """Compile as one rank of a job; the last rank runs another line."""
    torch.distributed.init_process_group("gloo")
    number, size = torch.distributed.get_rank(), torch.distributed.get_world_size()
    with torch_spyre_provenance.record(out=out, strict=True) as recording:
        torch.compile(layer)(host_data())
        last = special if number == size - 1 else usual
        torch.compile(last)(host_data())
    torch.distributed.barrier()
    torch.distributed.destroy_process_group()
    return len(recording.bundles)


if __name__ == "__main__":
    sys.stdout.write(f"{globals()[sys.argv[1]](*sys.argv[2:])}\n")
