"""Layouts of programs that are more than lines in a row: loops, modules, functions."""

from __future__ import annotations

from collections.abc import Callable

from attrs import frozen

from .draft import Block, Draft, Var
from .forms import MATMULS, POINTWISE, Form
from .growth import Call, call, forms_for, grown, line, product
from .truth import MATMUL

_UNARY = tuple(form for form in POINTWISE if not form.operands)


def chain(draft: Draft, n_lines: int) -> None:
    """Add lines in a row and return what none of them reads."""
    values = [draft.value()]
    for _ in range(n_lines):
        values.append(grown(draft, values))
    rows = [text.partition(" = ")[2] for text, _ in draft.forward.rows]
    unread = [
        value.name
        for value in values[1:]
        if not any(_names(text, value.name) for text in rows)
    ]
    draft.returns(unread[-1:] if draft.trains else unread)


def _names(text: str, name: str) -> bool:
    plain = "".join(c if c.isalnum() or c == "_" else " " for c in text)
    return name in plain.split()


@frozen(kw_only=True)
class Loop:
    """A way to write a loop over products.

    Attributes:
        head: The loop's own line; ``{n}`` is the number of rounds.
        product: The expression of the product.
        before: A line before the loop, or "".
        linear: Whether the products are `nn.Linear` modules.
    """

    head: str
    product: str
    before: str = ""
    linear: bool = False


_LOOPS = (
    Loop(head="for w in self.weights:", product="x @ w"),
    Loop(head="for fc in self.layers:", product="fc(x)", linear=True),
    Loop(head="for i in range({n}):", product="x @ self.weights[i]"),
    Loop(
        head="while left:",
        product="x @ left.pop(0)",
        before="left = list(self.weights)",
    ),
)


def loop(draft: Draft, n_rounds: int) -> None:
    """Add a loop, perhaps with lines before and after it."""
    value = draft.value()
    if draft.rng.random() < 0.5:
        value = line(draft, value, draft.rng.choice(forms_for(draft, value, MATMULS)))
    value = _rounds(draft, value, n_rounds, draft.rng.choice(_LOOPS))
    if draft.rng.random() < 0.5:
        value = line(draft, value, draft.rng.choice(forms_for(draft, value, MATMULS)))
    draft.returns([value.name])


def _rounds(draft: Draft, value: Var, n_rounds: int, style: Loop) -> Var:
    product_line, after = draft.number(), draft.number()
    form = draft.rng.choice(_UNARY) if draft.rng.random() < 0.6 else None
    if style.before:
        draft.forward.line(style.before)
    draft.forward.line(f"x = {value.name}")
    draft.forward.line(style.head.format(n=n_rounds))
    draft.forward.line(f"    x = {style.product}", product_line)
    if form is not None:
        draft.forward.line(f"    x = {form.text.format(x='x')}", after)
    made, k = [], value.extent
    for _ in range(n_rounds):
        n = draft.extent()
        _layer(draft, product_line, k, n, bias=style.linear)
        if form is not None:
            _activation(draft, after, n, form)
        made.append(
            f"nn.Linear({k}, {n}).half()" if style.linear else f"weight({k}, {n})"
        )
        k = n
    target = "layers = nn.ModuleList" if style.linear else "weights = nn.ParameterList"
    draft.init.line(f"self.{target}([{', '.join(made)}])")
    return Var("x", k)


def _layer(draft: Draft, label: int, k: int, n: int, *, bias: bool) -> None:
    """Note a linear layer; the gradient of its bias is a sum."""
    product(draft, label, k, n, {MATMUL, "add", "sum"} if bias else {MATMUL})


def _activation(draft: Draft, label: int, n: int, form: Form) -> None:
    draft.makes(label, n, () if draft.trains else form.ops)


@frozen(kw_only=True)
class Cells:
    """The classes ``Cell`` and ``Pair`` of a draft, and what their lines do."""

    draft: Draft
    product_line: int
    after: int
    form: Form
    bias: bool

    def passes(self, k: int, n: int) -> None:
        """Note that a cell takes a value from one extent to another."""
        _layer(self.draft, self.product_line, k, n, bias=self.bias)
        _activation(self.draft, self.after, n, self.form)


def _cells(draft: Draft) -> Cells:
    """Add the classes: a cell is a layer and an activation, a pair is two cells."""
    made = Cells(
        draft=draft,
        product_line=draft.number(),
        after=draft.number(),
        form=draft.rng.choice(_UNARY),
        bias=draft.rng.random() < 0.6,
    )
    cell, init, forward = _module("Cell", "k, n")
    init.line(f"self.fc = nn.Linear(k, n, bias={made.bias}).half()")
    forward.line("x = self.fc(x)", made.product_line)
    forward.line(f"return {made.form.text.format(x='x')}", made.after)
    pair, pair_init, pair_forward = _module("Pair", "k, m, n")
    pair_init.line("self.first = Cell(k, m)")
    pair_init.line("self.second = Cell(m, n)")
    pair_forward.line("return self.second(self.first(x))")
    draft.blocks += [cell, init, forward, pair, pair_init, pair_forward]
    return made


def _module(name: str, parameters: str) -> tuple[Block, Block, Block]:
    init = Block(f"def __init__(self, {parameters}):", depth=1)
    init.line("super().__init__()")
    return (
        Block(f"class {name}(nn.Module):"),
        init,
        Block("def forward(self, x):", depth=1),
    )


def modules(draft: Draft, n_blocks: int) -> None:
    """Add modules in modules, several instances of each class."""
    cells = _cells(draft)
    value = draft.value()
    styles = (_pair, _cell, _cells_in_a_row, _layers_in_a_row)
    for _ in range(n_blocks):
        number, label = draft.number(), draft.number()
        style = draft.rng.choice(styles)
        made, extent = style(draft, cells, value.extent, label)
        draft.init.line(f"self.m{number} = {made}")
        result = Var(f"x{number}", extent)
        draft.forward.line(f"{result.name} = self.m{number}({value.name})", label)
        value = result
    draft.returns([value.name])


def _pair(draft: Draft, cells: Cells, k: int, _: int) -> tuple[str, int]:
    m, n = draft.extent(), draft.extent()
    cells.passes(k, m)
    cells.passes(m, n)
    return f"Pair({k}, {m}, {n})", n


def _cell(draft: Draft, cells: Cells, k: int, _: int) -> tuple[str, int]:
    n = draft.extent()
    cells.passes(k, n)
    return f"Cell({k}, {n})", n


def _cells_in_a_row(draft: Draft, cells: Cells, k: int, _: int) -> tuple[str, int]:
    m, n = draft.extent(), draft.extent()
    cells.passes(k, m)
    cells.passes(m, n)
    return f"nn.Sequential(Cell({k}, {m}), Cell({m}, {n}))", n


def _layers_in_a_row(draft: Draft, _: Cells, k: int, label: int) -> tuple[str, int]:
    """Make torch's own modules: the line that calls them is the user's innermost."""
    n = draft.extent()
    product(draft, label, k, n)
    return f"nn.Sequential(nn.Linear({k}, {n}), nn.ReLU()).half()", n


def functions(draft: Draft, n_calls: int) -> None:
    """Add functions that compute, with calls of them and lines of forward between."""
    values = [draft.value()]
    for _ in range(n_calls):
        each = call(draft, values[-1])
        target = draft.rng.choice(_FUNCTIONS)(draft, each)
        result = Var(f"x{draft.number()}", each.extent)
        draft.forward.line(f"{result.name} = {target}({each.arguments})")
        values.append(result)
        if draft.rng.random() < 0.4:
            values.append(grown(draft, values))
    draft.returns([values[-1].name])


def _plain(draft: Draft, each: Call) -> str:
    name = f"step_{each.label}"
    block = Block(f"def {name}({each.parameters}):")
    block.line(f"result = {each.text}", each.label)
    block.line("return result")
    draft.blocks.append(block)
    return name


def _through_another(draft: Draft, each: Call) -> str:
    inner = _plain(draft, each)
    block = Block(f"def outer_{inner}({each.parameters}):")
    block.line(f"return {inner}({each.parameters})")
    draft.blocks.append(block)
    return f"outer_{inner}"


def _lambda(draft: Draft, each: Call) -> str:
    name = f"step_{each.label}"
    block = Block(f"{name} = (")
    block.line(f"lambda {each.parameters}: {each.text}", each.label)
    block.line(")")
    draft.blocks.append(block)
    return name


def _decorated(draft: Draft, each: Call) -> str:
    wrapper = Block(f"def wrapped_{each.label}(function):")
    wrapper.line("@functools.wraps(function)")
    wrapper.line("def call(*arguments):")
    wrapper.line("    return function(*arguments)")
    wrapper.line("return call")
    name = f"step_{each.label}"
    # The decorator takes the place of a header, the function that of its lines.
    block = Block(f"@wrapped_{each.label}\ndef {name}({each.parameters}):")
    block.line(f"return {each.text}", each.label)
    draft.blocks += [wrapper, block]
    return name


def _elsewhere(draft: Draft, each: Call) -> str:
    name = f"step_{each.label}"
    block = Block(f"def {name}({each.parameters}):")
    block.line(f"return {each.text}", each.label)
    draft.parts.append(block)
    return name


def _closure(draft: Draft, each: Call) -> str:
    name = f"step_{each.label}"
    draft.forward.line(f"def {name}({each.parameters}):")
    draft.forward.line(f"    return {each.text}", each.label)
    return name


def _method(draft: Draft, each: Call) -> str:
    name = f"step_{each.label}"
    block = Block(f"def {name}(self, {each.parameters}):", depth=1)
    block.line(f"return {each.text}", each.label)
    draft.methods.append(block)
    return f"self.{name}"


_FUNCTIONS: tuple[Callable[[Draft, Call], str], ...] = (
    _plain,
    _through_another,
    _lambda,
    _decorated,
    _elsewhere,
    _closure,
    _method,
)
