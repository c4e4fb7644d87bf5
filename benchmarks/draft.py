"""Generated programs while they are written: source, and what each line does."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator

from attrs import define, field, frozen

from .forms import Form
from .programs import Program, Shape
from .truth import Making, Truth, Value

STICK = 64
"""Elements of a stick of the device, in fp16."""

_N_SMALL = 12

_PROLOGUE = '''"""Generated: kind {kind}, seed {seed}."""
import functools

import torch
import torch.nn.functional as F
from torch import nn
'''
_WEIGHT = """
def weight(*shape):
    return nn.Parameter(torch.randn(shape, dtype=torch.float16) / 8)
"""


@define
class Block:
    """Lines of source under one header.

    Attributes:
        header: The lines above them, not yet indented.
        depth: Levels of indentation of the header.
        rows: The lines and what each is labelled, if anything.
    """

    header: str
    depth: int = 0
    rows: list[tuple[str, int | None]] = field(factory=list)

    def line(self, text: str, label: int | None = None) -> None:
        """Add a line; further indentation is part of the text."""
        self.rows.append((text, label))

    def rendered(self) -> Iterator[tuple[str, int | None]]:
        """Yield the lines as they stand in the file."""
        pad = "    " * self.depth
        for text in self.header.splitlines():
            yield pad + text, None
        for text, label in self.rows:
            yield f"{pad}    {text}", label


@frozen
class Var:
    """A variable of the program: its name there, and its last extent."""

    name: str
    extent: int


@define
class Draft:
    """A program that is being written.

    Lines are labelled by numbers, which become ``file:line`` at the end.

    Attributes:
        kind: The program's kind.
        seed: Seed of `rng`.
        trains: Whether gradients will be computed.
        shift: Number of empty lines above everything.
        rng: Makes every choice.
        rows: The row dimensions that all values share: powers of two, so that no extent
            divides their products.
        blocks: Functions and classes above the model, in order.
        parts: Functions in a file of their own.
        init: The model's constructor.
        forward: The model's forward.
        methods: The model's other methods.
        inputs: Name and shape of each input.
        also_returns: Variables that the model returns besides its result.
    """

    kind: str
    seed: int
    trains: bool = False
    shift: int = 0
    rng: random.Random = field(init=False)
    rows: Shape = field(init=False)
    blocks: list[Block] = field(factory=list, init=False)
    parts: list[Block] = field(factory=list, init=False)
    init: Block = field(init=False)
    forward: Block = field(init=False)
    methods: list[Block] = field(factory=list, init=False)
    inputs: list[tuple[str, Shape]] = field(factory=list, init=False)
    also_returns: list[str] = field(factory=list, init=False)
    _extents: list[int] = field(init=False)
    _makings: list[tuple[int, int, frozenset[str]]] = field(factory=list, init=False)
    _touched: dict[frozenset[int], set[int]] = field(factory=dict, init=False)
    _reducers: dict[int, int] = field(factory=dict, init=False)
    _sums: set[int] = field(factory=set, init=False)
    _inner: set[int] = field(factory=set, init=False)
    _row_lines: set[int] = field(factory=set, init=False)
    _counter: int = field(default=0, init=False)

    def __attrs_post_init__(self) -> None:
        self.rng = random.Random(f"{self.kind}:{self.seed}")  # noqa: S311
        self.rows = self.rng.choice([(2,), (16,), (32,), (64,), (2, 16), (4, 64)])
        self._extents = _aligned() if self.rng.random() < 0.5 else _primes(67, 421)
        # The small ones first: a program need not be slow to be told apart.
        small = self._extents[:_N_SMALL]
        self.rng.shuffle(small)
        self._extents[:_N_SMALL] = small
        self.init = Block("def __init__(self):", depth=1)
        self.init.line("super().__init__()")
        self.forward = Block("def forward(self):", depth=1)

    @property
    def stem(self) -> str:
        """Return the name of the main file without its suffix."""
        suffix = f"_moved_{self.shift}" if self.shift else ""
        return f"generated_{self.kind}_{self.seed}{suffix}"

    def number(self) -> int:
        """Return a number that was not used before: a label, or part of a name."""
        self._counter += 1
        return self._counter

    def extent(self, below: int | None = None) -> int:
        """Return an extent that no line has yet, below a limit if there is one."""
        fitting = (e for e in self._extents if below is None or e < below)
        extent = next(fitting)
        self._extents.remove(extent)
        return extent

    def has_extent(self, below: int) -> bool:
        """Return whether an extent below a limit is left."""
        return any(extent < below for extent in self._extents)

    def summands(self) -> tuple[int, int]:
        """Return two extents whose sum is an extent that no line has."""
        first, *others = self._extents
        second = next(e for e in others if first + e not in self._sums)
        self._sums.add(first + second)
        self._extents = [e for e in others if e != second]
        return first, second

    def argument(self, *shape: int) -> str:
        """Add an input to the model and return its name."""
        name = f"a{self.number()}"
        self.inputs.append((name, shape))
        return name

    def parameter(self, *shape: int) -> str:
        """Add a parameter to the model and return the expression for it."""
        name = f"self.w{self.number()}"
        self.init.line(f"{name} = weight({', '.join(map(str, shape))})")
        return name

    def operand(self, *shape: int) -> str:
        """Add a parameter or an input and return the expression for it."""
        make = self.parameter if self.rng.random() < 0.6 else self.argument
        return make(*shape)

    def value(self, *rows: int) -> Var:
        """Add an input of the model with an extent of its own."""
        extent = self.extent()
        return Var(self.argument(*(rows or self.rows), extent), extent)

    def makes(self, label: int, extent: int, ops: Iterable[str] = ()) -> None:
        """Note that a line computes values of an extent."""
        self._makings.append((label, extent, frozenset(ops)))
        self.touches(label, extent)

    def touches(self, label: int, *extents: int) -> None:
        """Note that a line makes or reads a tensor with just these extents."""
        self._touched.setdefault(frozenset(extents), set()).add(label)

    def can_reduce(self, extent: int) -> bool:
        """Return whether a reduction of an extent would tell its line."""
        return extent not in self._reducers and extent not in self._inner

    def ops_of(self, extent: int) -> frozenset[str] | None:
        """Return the device ops of an extent, or None where some are not known."""
        makings = [ops for _, made, ops in self._makings if made == extent]
        return frozenset().union(*makings) if makings and all(makings) else None

    def shape(self, dims: str, k: int, n: int) -> Shape:
        """Return the shape that letters stand for."""
        letters = {"r": self.rows, "k": (k,), "n": (n,), "B": self.rows[:-1]}
        return tuple(size for letter in dims for size in letters[letter])

    def note(self, form: Form, label: int, k: int, n: int) -> None:
        """Note what a line of a form does, but for its value `x` of extent `k`."""
        for dims in form.operands.values():
            known = {"k": k, "n": n}
            extents = {known[letter] for letter in dims if letter in known}
            if extents:
                self.touches(label, *extents)
        if form.reduces:
            self._reducers[k] = label
        if form.inner:
            self._inner.add(n)
        if form.reduces or form.inner:
            self._row_lines.add(label)
        self.makes(label, n, form.ops)
        self.touches(label, k)

    def returns(self, names: Iterable[str]) -> None:
        """End the model's forward."""
        self.forward.line(f"return {', '.join([*names, *self.also_returns])}")

    def finish(self) -> Program:
        """Return the program."""
        places: dict[int, str] = {}
        self.forward.header = (
            f"def forward(self, {', '.join(n for n, _ in self.inputs)}):"
        )
        model = [
            Block("class Model(nn.Module):"),
            self.init,
            *self.methods,
            self.forward,
        ]
        files = []
        imports = ""
        if self.parts:
            files.append(self._file(f"{self.stem}_parts.py", self.parts, "", places))
            names = [block.header.split("(")[0][4:] for block in self.parts]
            imports = f"from {self.stem}_parts import {', '.join(names)}\n"
        blocks = [*self.blocks, *model]
        files.append(self._file(f"{self.stem}.py", blocks, imports, places))
        return Program(
            kind=self.kind,
            seed=self.seed,
            files=tuple(files),
            inputs=tuple(shape for _, shape in self.inputs),
            trains=self.trains,
            truth=self._truth(places),
        )

    def _file(
        self, name: str, blocks: list[Block], imports: str, places: dict[int, str]
    ) -> tuple[str, str]:
        prologue = _PROLOGUE.format(kind=self.kind, seed=self.seed)
        lines = ["" for _ in range(self.shift)]
        lines += (prologue + imports + _WEIGHT).splitlines()
        for block in blocks:
            lines.append("")
            for text, label in block.rendered():
                lines.append(text)
                if label is not None:
                    places[label] = f"{name}:{len(lines)}"
        return name, "\n".join(lines) + "\n"

    def _truth(self, places: dict[int, str]) -> Truth:
        return Truth(
            makings=tuple(
                Making(place=places[label], extent=extent, ops=ops)
                for label, extent, ops in self._makings
            ),
            values=tuple(
                Value(extents=extents, places=frozenset(places[n] for n in labels))
                for extents, labels in self._touched.items()
            ),
            reducers={e: places[label] for e, label in self._reducers.items()},
            sums=frozenset(self._sums),
            row_lines=frozenset(places[label] for label in self._row_lines),
        )


def _primes(low: int, high: int) -> list[int]:
    return [n for n in range(low, high) if all(n % divisor for divisor in range(2, n))]


def _aligned() -> list[int]:
    """Return extents that fill whole sticks, and of which none divides another."""
    return [STICK * prime for prime in _primes(3, 100)]
