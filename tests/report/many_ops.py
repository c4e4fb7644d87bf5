"""A bundle of as many ops as one likes, with all that a real one has."""

from __future__ import annotations

from attrs import evolve
from bundle_factory import FILE, bundle, fx, handle, ir, kernel, run_facts, sdsc, spec

from torch_spyre_provenance.model import (
    Bundle,
    Dim,
    Frame,
    KernelFiles,
    Op,
    OpArg,
    SourceFile,
    SourceLine,
    Stack,
)

MUL = "aten.mul.Tensor"
OPS_OF_LAYER = 10
OPS_OF_KERNEL = 250


def many_ops(n_ops: int) -> Bundle:
    """Return a bundle of a deep model: ten lines, called once in each layer."""
    numbers = range(n_ops)
    kernels = tuple(
        kernel(
            *(
                evolve(_op(number), path=(number - first,))
                for number in numbers[first : first + OPS_OF_KERNEL]
            ),
            name=f"sdsc_fused_{first // OPS_OF_KERNEL}",
        )
        for first in range(0, n_ops, OPS_OF_KERNEL)
    )
    files = (
        KernelFiles(
            kernel=each.name,
            directory=f"/cache/{each.name}",
            sdsc=tuple(sdsc(n, op.handle) for n, op in enumerate(each.ops)),
            executes=tuple(f"sdsc_{n}.json" for n in range(len(each.ops))),
        )
        for each in kernels
    )
    value = bundle(
        stacks=tuple(_stack(number) for number in numbers),
        pre=tuple(
            fx(f"call_{n}", "torch.mul", stack=n, module=_module(n)) for n in numbers
        ),
        post=tuple(
            node
            for n in numbers
            for node in (
                fx(f"view_{n}", "aten.view.default", stack=n, module=_module(n)),
                fx(
                    f"mul_{n}",
                    MUL,
                    f"view_{n}",
                    stack=n,
                    aten=MUL,
                    module=_module(n),
                    came_from=(f"call_{n}",),
                ),
            )
        ),
        ir_post=tuple(
            ir(n, f"mul_{n}", reads=(f"buf{n - 1}",) if n else ()) for n in numbers
        ),
        kernels=kernels,
        run=run_facts("deep", *files),
    )
    return evolve(value, sources=(_source(),))


def _module(number: int) -> str:
    return f"layers.{number // OPS_OF_LAYER}.part{number % OPS_OF_LAYER % 3}"


def _stack(number: int) -> Stack:
    line = 10 + number % OPS_OF_LAYER
    return (
        Frame(file=FILE, line=40, function="forward", text="x = layer(x)"),
        Frame(file=FILE, line=line, function="forward", text=f"x = x * {line}"),
    )


def _source() -> SourceFile:
    lines = [(n, f"        x = x * {n}") for n in range(10, 10 + OPS_OF_LAYER)]
    lines += [
        (39, "        for layer in self.layers:"),
        (40, "            x = layer(x)"),
    ]
    return SourceFile(
        path=FILE,
        sha256="0" * 64,
        lines=tuple(SourceLine(number=n, text=text) for n, text in lines),
    )


def _op(number: int) -> Op:
    return evolve(
        spec(number, "mul", handle(f"mul_{number}", f"buf{number}", start_line=10)),
        iteration_space=(
            Dim(symbol="c0", extent="64", split=2),
            Dim(symbol="c1", extent="128", split=4),
        ),
        args=tuple(
            OpArg(
                is_input=position < 2,
                arg_index=number + position,
                device_dtype="SEN169_FP16",
                device_size=("2", "64", "64"),
                device_coordinates=("floor(c1/64)", "c0", "Mod(c1, 64)"),
                allocation=(("hbm", str(number + position)),),
            )
            for position in range(3)
        ),
    )
