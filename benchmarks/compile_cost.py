"""What it costs to compile a deep model for the reference device.

    python -m benchmarks.compile_cost

compiles a 32-layer decoder of the Llama shape, width 256, in half precision: once for
the `spyre` device, and once for the host with Inductor's C++ backend. It prints for
both the processor time of the compile, its peak memory, and the ratio of the times.

Each compile has a process of its own and starts without caches. Both run at the same
time, for whatever else the machine does slows the one down as the other. The time is
that of the first call less that of the second one, so it holds Dynamo, AOTAutograd and
Inductor, and not the run. The C++ compiler is another process, whose time does not
count. With ``--profile`` the stages of the compile and the functions that took longest
are printed too.
"""

from __future__ import annotations

import argparse
import cProfile
import json
import os
import pstats
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from attrs import asdict, frozen

WIDTH = 256
HEADS = 8
WORDS = 512
LENGTH = 16

DEVICES = ("spyre", "cpu")
LIMIT = 1.5
"""Largest ratio of the times that the project allows itself."""


@frozen(kw_only=True)
class Cost:
    """What one compile took.

    Attributes:
        device: What it was for.
        seconds: Processor time.
        gigabytes: Peak memory of the process.
    """

    device: str
    seconds: float
    gigabytes: float


@frozen
class Stage:
    """A part of a compile.

    Attributes:
        name: What it is called.
        within: Functions whose time it is, each as the end of a path and a name; none
            stands for the whole compile.
        without: Functions inside these whose time is that of other stages.
    """

    name: str
    within: tuple[tuple[str, str], ...] = ()
    without: tuple[tuple[str, str], ...] = ()


_COMPILE = ("_inductor/compile_fx.py", "compile_fx")
_INDUCTOR = ("_inductor/compile_fx.py", "fw_compiler_base")
_FX_PASSES = (
    ("_inductor/compile_fx.py", "_recursive_joint_graph_passes"),
    ("_inductor/compile_fx.py", "_recursive_post_grad_passes"),
)
_LOWERING = ("_inductor/graph.py", "run")
_PASSES = ("reference/passes.py", "run_pre_scheduling")
_SCHEDULER = ("_inductor/graph.py", "_update_scheduler")
_CODEGEN = ("_inductor/graph.py", "codegen")
_KERNELS = ("reference/scheduling.py", "flush")
_FILES = ("reference/async_compile.py", "sdsc")

STAGES = (
    Stage("Dynamo, guards and the first run", (), (_COMPILE,)),
    Stage("AOTAutograd", (_COMPILE,), (_INDUCTOR,)),
    Stage("Inductor: passes over FX graphs", _FX_PASSES),
    Stage("Inductor: lowering", (_LOWERING,)),
    Stage("ours: passes over LoopLevelIR", (_PASSES,)),
    Stage("Inductor: scheduler", (_SCHEDULER,)),
    Stage("ours: OpSpecs and their text", (_KERNELS,)),
    Stage("Inductor: generated code", (_CODEGEN,), (_PASSES, _SCHEDULER, _KERNELS)),
    Stage("ours: files and runners", (_FILES,)),
    Stage(
        "Inductor: the rest", (_INDUCTOR,), (*_FX_PASSES, _LOWERING, _CODEGEN, _FILES)
    ),
)
"""The stages of a compile, in order."""


def model(layers: int) -> Any:
    """Return a decoder with random weights."""
    import transformers

    config = transformers.LlamaConfig(
        vocab_size=WORDS,
        hidden_size=WIDTH,
        intermediate_size=2 * WIDTH,
        num_hidden_layers=layers,
        num_attention_heads=HEADS,
        num_key_value_heads=HEADS // 2,
        max_position_embeddings=64,
        use_cache=False,
        pad_token_id=0,
        bos_token_id=1,
        eos_token_id=2,
    )
    return transformers.LlamaForCausalLM(config).eval().half()


def measure(device: str, layers: int, *, profile: bool) -> Cost:
    """Compile in this process, which must not have compiled anything before.

    Args:
        device: ``spyre`` or ``cpu``.
        layers: Number of layers.
        profile: Whether to print the functions that took longest.
    """
    import torch
    import torch._inductor.config as inductor

    inductor.compile_threads = 1
    if device == "spyre":
        from torch_spyre_provenance.frontends import reference

        reference.register()
    torch.set_num_threads(1)
    words = torch.arange(LENGTH)[None].to(device)
    subject = model(layers).to(device)
    compiled = torch.compile(subject, fullgraph=True)
    profiler = cProfile.Profile()
    with torch.no_grad():
        # What a process does once, whatever it compiles, is no part of the comparison.
        torch.compile(torch.relu)(torch.ones(4, 64, dtype=torch.half, device=device))
        if profile:
            profiler.enable()
        first = _processor_time(lambda: compiled(input_ids=words))
        profiler.disable()
        second = _processor_time(lambda: compiled(input_ids=words))
    if profile:
        statistics = pstats.Stats(profiler, stream=sys.stderr)
        print(*stages(statistics), sep="\n", file=sys.stderr)
        statistics.sort_stats("cumulative").print_stats("torch_spyre_provenance", 40)
        statistics.sort_stats("tottime").print_stats(40)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return Cost(device=device, seconds=first - second, gigabytes=peak / 2**20)


def stages(statistics: Any) -> list[str]:
    """Return a table of the stages of a profiled compile, with their shares of it."""
    whole = statistics.total_tt
    shares = [(stage.name, _seconds(stage, statistics) / whole) for stage in STAGES]
    rows = (f"| {name} | {share:.1%} |" for name, share in shares)
    return ["| stage | share |", "|---|--:|", *rows]


def _seconds(stage: Stage, statistics: Any) -> float:
    def total(*functions: tuple[str, str]) -> float:
        return sum(
            cumulative
            for (path, _, name), (*_, cumulative, _) in statistics.stats.items()
            if any(path.endswith(end) and name == each for end, each in functions)
        )

    within = total(*stage.within) if stage.within else statistics.total_tt
    return float(within - total(*stage.without))


def _processor_time(call: Any) -> float:
    start = time.process_time()
    call()
    return time.process_time() - start


def _in_child(device: str, arguments: argparse.Namespace) -> Cost:
    command = [sys.executable, "-m", "benchmarks.compile_cost", "--device", device]
    command += ["--layers", str(arguments.layers)]
    command += ["--profile"] if arguments.profile else []
    with tempfile.TemporaryDirectory() as cache:
        environment = os.environ | {"TORCHINDUCTOR_CACHE_DIR": cache}
        done = subprocess.run(
            command, env=environment, stdout=subprocess.PIPE, check=True, text=True
        )
    return Cost(**json.loads(done.stdout.splitlines()[-1]))


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the costs; return 1 if the ratio is above the limit."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--layers", type=int, default=32)
    parser.add_argument("--profile", action="store_true")
    parser.add_argument("--device", choices=DEVICES, help="measure one, print JSON")
    parsed = parser.parse_args(arguments)
    if parsed.device:
        cost = measure(parsed.device, parsed.layers, profile=parsed.profile)
        print(json.dumps(asdict(cost)))
        return 0
    with ThreadPoolExecutor() as pool:
        costs = list(pool.map(lambda device: _in_child(device, parsed), DEVICES))
    for cost in costs:
        print(f"{cost.device}: {cost.seconds:.1f} s, {cost.gigabytes:.2f} GiB")
    ratio = costs[0].seconds / costs[1].seconds
    print(f"ratio {ratio:.2f}, allowed {LIMIT}")
    return int(ratio > LIMIT)


if __name__ == "__main__":
    sys.exit(main())
