"""The kinds of generated programs.

Every kind is a function from a seed to a program. The same seed gives the same program,
in every process.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from attrs import evolve

from . import structures
from .aliasing import VIEWS, part_update, product_to_update, updates
from .draft import Block, Draft, Var
from .forms import CHAINING, MATMULS, SINGLES
from .growth import alone, around, expression, forms_for, grown, product
from .programs import Program
from .truth import MATMUL


def single(seed: int) -> Program:
    """One operator on two lines of their own, and another operator between them."""
    draft = Draft("single", seed)
    form = OPERATORS[seed % len(OPERATORS)]
    if len(draft.rows) not in form.rows:
        draft.rows = (16,) if form.rows == (1,) else (4, 64)
    neighbours = [other for other in MATMULS if len(draft.rows) in other.rows]
    lines = (form, draft.rng.choice(neighbours), form)
    draft.returns([alone(draft, each) for each in lines])
    return draft.finish()


OPERATORS = (*SINGLES, *CHAINING)
"""The operators that `single` is about, by seed."""


def chain(seed: int) -> Program:
    """Lines that feed each other."""
    draft = Draft("chain", seed)
    structures.chain(draft, draft.rng.randint(4, 8))
    return draft.finish()


def helper(seed: int) -> Program:
    """Functions that forward calls: the true line is in the innermost one."""
    draft = Draft("helper", seed)
    structures.functions(draft, draft.rng.randint(3, 6))
    return draft.finish()


def loop(seed: int) -> Program:
    """Lines that run several times, each time with another extent."""
    draft = Draft("loop", seed)
    structures.loop(draft, draft.rng.randint(3, 5))
    return draft.finish()


def nested(seed: int) -> Program:
    """Modules in modules, whose forward lines run for several instances."""
    draft = Draft("nested", seed)
    structures.modules(draft, draft.rng.randint(2, 4))
    return draft.finish()


def two_calls(seed: int) -> Program:
    """Several calls on one line, side by side and inside each other."""
    draft = Draft("two_calls", seed)
    values = [draft.value(), draft.value()]
    for _ in range(draft.rng.randint(2, 3)):
        values = _side_by_side(draft, values)
    draft.returns([value.name for value in values])
    return draft.finish()


def _side_by_side(draft: Draft, values: list[Var]) -> list[Var]:
    label = draft.number()
    texts, results = [], []
    form = draft.rng.choice(forms_for(draft, values[0]))
    for value in values:
        if form not in forms_for(draft, value) or draft.rng.random() < 0.5:
            form = draft.rng.choice(forms_for(draft, value))
        text, extent = expression(draft, label, value, form)
        if draft.rng.random() < 0.4:
            text, extent = around(draft, label, text, extent)
        texts.append(text)
        results.append(Var(f"x{draft.number()}", extent))
    names = ", ".join(result.name for result in results)
    draft.forward.line(f"{names} = {', '.join(texts)}", label)
    return results


def identical(seed: int) -> Program:
    """Lines with the same text, in one function and in several."""
    draft = Draft("identical", seed)
    rng, value = draft.rng, draft.value()
    twins = [Block(f"def step_{number}(x, w):") for number in range(rng.randint(1, 2))]
    inside = [draft.number() for _ in twins]
    for block, label in zip(twins, inside, strict=True):
        block.line("return torch.tanh(x @ w)", label)
    draft.blocks += twins
    text = rng.choice(["x @ next(weights)", "torch.relu(x @ next(weights))"])
    draft.forward.line(f"x = {value.name}")
    draft.forward.line("weights = iter(self.weights)")
    weights, k = [], value.extent
    for _ in range(rng.randint(4, 6)):
        n, label = draft.extent(), draft.number()
        if rng.random() < 0.4:
            which = rng.randrange(len(twins))
            label = inside[which]
            draft.forward.line(f"x = step_{which}(x, next(weights))")
        else:
            draft.forward.line(f"x = {text}", label)
        product(draft, label, k, n)
        weights.append(f"weight({k}, {n})")
        k = n
    draft.init.line(f"self.weights = nn.ParameterList([{', '.join(weights)}])")
    draft.returns(["x"])
    return draft.finish()


def spread(seed: int) -> Program:
    """Statements over several lines: each call has a line of its own."""
    draft = Draft("spread", seed)
    values = [draft.value()]
    for _ in range(draft.rng.randint(2, 4)):
        values.append(_over_lines(draft, values[-1]))
        if draft.rng.random() < 0.5:
            values.append(grown(draft, values))
    draft.returns([values[-1].name])
    return draft.finish()


def _over_lines(draft: Draft, value: Var) -> Var:
    outer, inner = draft.number(), draft.number()
    function, op = draft.rng.choice(
        [("torch.relu", "relufwd"), ("torch.tanh", "tanh"), ("torch.exp", "exp")]
    )
    n = draft.extent()
    weight = draft.operand(value.extent, n)
    result = Var(f"x{draft.number()}", n)
    draft.forward.line(f"{result.name} = {function}(", outer)
    draft.forward.line(f"    torch.matmul({value.name}, {weight})", inner)
    draft.forward.line(")")
    product(draft, inner, value.extent, n, {MATMUL})
    draft.makes(outer, n, {op})
    return result


def views(seed: int) -> Program:
    """Views on lines of their own between the lines that compute."""
    draft = Draft("views", seed)
    values = [draft.value()]
    for _ in range(draft.rng.randint(2, 4)):
        values.append(draft.rng.choice(VIEWS)(draft, values[-1]))
    draft.returns([values[-1].name])
    return draft.finish()


def inplace(seed: int) -> Program:
    """Updates in place: of values, of parts of values and of inputs."""
    draft = Draft("inplace", seed)
    value = draft.value()
    if draft.rng.random() < 0.4:
        updates(draft, value, frozenset())
    for _ in range(draft.rng.randint(2, 3)):
        value, taken = product_to_update(draft, value)
        updates(draft, value, taken)
        if draft.rng.random() < 0.4:
            part_update(draft, value)
    draft.returns([value.name])
    return draft.finish()


def moved(seed: int) -> Program:
    """A chain, and for each odd seed the chain before it, further down in a file."""
    draft = Draft("moved", seed - seed % 2, shift=7 * (seed % 2))
    structures.chain(draft, draft.rng.randint(3, 5))
    return evolve(draft.finish(), seed=seed)


def backward(seed: int) -> Program:
    """A training step: a gradient belongs to the line of what it is the gradient of."""
    draft = Draft("backward", seed, trains=True)
    layouts = (structures.chain, structures.chain, structures.loop, structures.modules)
    draft.rng.choice(layouts)(draft, draft.rng.randint(3, 5))
    return draft.finish()


KINDS: Mapping[str, Callable[[int], Program]] = {
    kind.__name__: kind
    for kind in (
        single,
        chain,
        helper,
        loop,
        nested,
        two_calls,
        identical,
        spread,
        views,
        inplace,
        moved,
        backward,
    )
}
"""Every kind by name, in the order of the table."""


def random_programs(number: int, seed: int) -> list[Program]:
    """Return programs of all kinds in turn.

    Args:
        number: How many.
        seed: Seed of the first of each kind; the others of it have those after that.
    """
    kinds = tuple(KINDS.values())
    return [kinds[i % len(kinds)](seed + i // len(kinds)) for i in range(number)]


def one_of_each() -> list[Program]:
    """Return a program for every operator, and one or two of every other kind."""
    singles = [single(number) for number in range(len(OPERATORS))]
    others = [kind(0) for kind in KINDS.values() if kind is not single]
    return [*singles, *others, moved(1)]
