"""The files of one kernel: ``bundle.mlir`` and one ``sdsc_N.json`` per op."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import count
from pathlib import Path

from attrs import define, field, frozen

from .op_spec import LoopSpec, OpSpec, Spec, walk
from .superdsc import Start, SuperDsc, superdsc

MLIR = "bundle.mlir"
_ADDRESS = "!sdscbundle.input_arg<index>"


@frozen(kw_only=True)
class KernelBundle:
    """The ops of a kernel, as the backend compiler reads them.

    Attributes:
        specs: The kernel's tree of specs.
        files: The file of each op, depth first.
    """

    specs: tuple[Spec, ...]
    files: tuple[SuperDsc, ...]

    def names(self) -> list[str]:
        """Return the name of each op's file."""
        return [f"sdsc_{number}.json" for number in range(len(self.files))]


def kernel_bundle(specs: Sequence[Spec]) -> KernelBundle:
    """Return the files of a kernel; the ops are numbered depth first.

    The sizes and addresses that the files leave open are numbered through the whole
    kernel.
    """
    files: list[SuperDsc] = []
    symbol = -1
    for spec in walk(specs):
        if isinstance(spec, OpSpec):
            files.append(superdsc(len(files), spec, symbol))
            symbol -= files[-1].n_symbols
    return KernelBundle(specs=tuple(specs), files=tuple(files))


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
        (directory / name).write_bytes(file.content)
    (directory / MLIR).write_text(render_mlir(bundle), encoding="utf-8")


def render_mlir(bundle: KernelBundle) -> str:
    """Return the text of ``bundle.mlir``: it calls the ops and gives them addresses."""
    starts = [start for file in bundle.files for start in file.starts]
    arguments = sorted({start.argument for start in starts})
    parameters = ", ".join(f"%arg_{n}_base_addr: {_ADDRESS}" for n in arguments)
    calls = _Calls(zip(bundle.names(), bundle.files, strict=True))
    body = list(calls.lines(bundle.specs))
    lines = [*calls.maps, "module {", f"\tfunc.func @sdsc_bundle({parameters}) {{"]
    lines += [
        f"\t\t%arg_{n} = sdscbundle.input_arg_extract value from %arg_{n}_base_addr"
        f" : {_ADDRESS} -> index"
        for n in arguments
    ]
    lines += [
        f"\t\t{line}" for line in (*calls.constants(), *_addresses(starts), *body)
    ]
    return "\n".join([*lines, "\t\treturn", "\t}", "}"]) + "\n"


@define
class _Calls:
    """Writes the calls of the ops, in the loops around them.

    Attributes:
        files: The name and content of each op's file, depth first.
        bounds: Trip count of each loop so far.
    """

    files: Iterator[tuple[str, SuperDsc]]
    bounds: list[str] = field(factory=list, init=False)
    _maps: dict[tuple[int, ...], str] = field(factory=dict, init=False)
    _addresses: Iterator[int] = field(factory=count, init=False)

    @property
    def maps(self) -> list[str]:
        """Return the line that defines each map from trips to an address."""
        lines = []
        for strides, name in self._maps.items():
            trips = [f"d{n}" for n in range(len(strides))]
            terms = (f"{s}*{d}" for s, d in zip(strides, trips, strict=True))
            sum_ = " + ".join(("s0", *terms))
            lines.append(f"{name} = affine_map<({', '.join(trips)})[s0] -> ({sum_})>")
        return lines

    def constants(self) -> Iterator[str]:
        """Yield the lines that define the bounds of the loops."""
        if self.bounds:
            yield "%c0 = arith.constant 0 : index"
            yield "%c1 = arith.constant 1 : index"
        for number, bound in enumerate(self.bounds):
            yield f"%loop_bound_{number} = arith.constant {bound} : index"

    def lines(
        self, specs: Sequence[Spec], loops: tuple[int, ...] = ()
    ) -> Iterator[str]:
        """Yield the calls of the ops inside some loops, innermost first."""
        for spec in specs:
            if isinstance(spec, LoopSpec):
                number = len(self.bounds)
                self.bounds.append(str(spec.count))
                bounds = f"%c0 to %loop_bound_{number} step %c1"
                yield f"scf.for %i_{number} = {bounds} {{"
                yield from (f"\t{x}" for x in self.lines(spec.body, (number, *loops)))
                yield "}"
            elif isinstance(spec, OpSpec):
                yield from self._call(loops)

    def _call(self, loops: tuple[int, ...]) -> Iterator[str]:
        name, file = next(self.files)
        operands = []
        for start in file.starts:
            operand = _operand(start)
            moving = [
                (f"%i_{loop}", stride)
                for loop, stride in zip(loops, start.advances, strict=True)
                if stride
            ][::-1]
            if moving:
                trips, strides = zip(*moving, strict=True)
                known = self._maps.setdefault(strides, f"#map_{len(self._maps)}")
                base, operand = operand, f"%addr_{next(self._addresses)}"
                yield f"{operand} = affine.apply {known}({', '.join(trips)})[{base}]"
            operands.append(operand)
        symbols = ", ".join(str(start.symbol) for start in file.starts)
        yield (
            f"sdscbundle.sdsc_execute ({', '.join(operands)}) "
            f'{{sdsc_filename="{name}", "symbol_ids"=[{symbols}]}}'
        )


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
