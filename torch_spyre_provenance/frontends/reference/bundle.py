"""The files of one kernel: ``bundle.mlir`` and one ``sdsc_N.json`` per op."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

import orjson
from attrs import frozen

from .dsc import Json
from .op_spec import OpSpec, Spec, walk
from .superdsc import Start, SuperDsc, superdsc

MLIR = "bundle.mlir"
_ADDRESS = "!sdscbundle.input_arg<index>"


@frozen(kw_only=True)
class KernelBundle:
    """The ops of a kernel, as the backend compiler reads them."""

    files: tuple[SuperDsc, ...]

    def names(self) -> list[str]:
        """Return the name of each op's file."""
        return [f"sdsc_{number}.json" for number in range(len(self.files))]


def kernel_bundle(specs: Sequence[Spec]) -> KernelBundle:
    """Return the files of a kernel; the ops are numbered depth first.

    The addresses that the files leave open are numbered through the whole kernel.
    """
    files: list[SuperDsc] = []
    symbol = -1
    for spec in walk(specs):
        if isinstance(spec, OpSpec):
            files.append(superdsc(len(files), spec, symbol))
            symbol -= len(files[-1].starts)
    return KernelBundle(files=tuple(files))


def generate_bundle(
    kernel_name: str,
    output_dir: str,
    specs: Sequence[Spec],
) -> None:
    """Write a kernel's files.

    Args:
        kernel_name: The kernel's name; unused, as in torch-spyre's signature.
        output_dir: An existing directory.
        specs: The kernel's tree of specs.
    """
    directory = Path(output_dir)
    bundle = kernel_bundle(specs)
    for name, file in zip(bundle.names(), bundle.files, strict=True):
        (directory / name).write_bytes(_encoded(file.document))
    (directory / MLIR).write_text(render_mlir(bundle), encoding="utf-8")


def _encoded(document: Json) -> bytes:
    try:
        return orjson.dumps(document, option=orjson.OPT_INDENT_2)
    except orjson.JSONEncodeError:
        # It refuses lone surrogates, which the path of a source file can hold.
        return json.dumps(document, indent=2).encode()


def render_mlir(bundle: KernelBundle) -> str:
    """Return the text of ``bundle.mlir``: it calls the ops and gives them addresses."""
    starts = [start for file in bundle.files for start in file.starts]
    arguments = sorted({start.argument for start in starts})
    parameters = ", ".join(f"%arg_{n}_base_addr: {_ADDRESS}" for n in arguments)
    lines = ["module {", f"\tfunc.func @sdsc_bundle({parameters}) {{"]
    lines += [
        f"\t\t%arg_{n} = sdscbundle.input_arg_extract value from %arg_{n}_base_addr"
        f" : {_ADDRESS} -> index"
        for n in arguments
    ]
    lines += [f"\t\t{line}" for line in _addresses(starts)]
    lines += [
        f"\t\t{_execute(name, file.starts)}"
        for name, file in zip(bundle.names(), bundle.files, strict=True)
    ]
    return "\n".join([*lines, "\t\treturn", "\t}", "}"]) + "\n"


def _addresses(starts: Sequence[Start]) -> Iterator[str]:
    """Yield the lines that compute each distinct address once."""
    known: set[str] = set()
    for start in starts:
        name = _operand(start)
        if start.offset == 0 or name in known:
            continue
        known.add(name)
        base = f"%arg_{start.argument}"
        constant = f"{base}_core_offset_{start.offset}"
        yield f"{constant} = arith.constant {start.offset} : index"
        yield f"{name} = arith.addi {base}, {constant} : index"


def _operand(start: Start) -> str:
    base = f"%arg_{start.argument}"
    return f"{base}_core_{start.offset}" if start.offset else base


def _execute(name: str, starts: Sequence[Start]) -> str:
    operands = ", ".join(_operand(start) for start in starts)
    symbols = ", ".join(str(start.symbol) for start in starts)
    return (
        f"sdscbundle.sdsc_execute ({operands}) "
        f'{{sdsc_filename="{name}", "symbol_ids"=[{symbols}]}}'
    )
