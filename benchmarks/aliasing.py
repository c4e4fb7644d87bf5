"""Lines about memory: views of values, and updates in place."""

from __future__ import annotations

from .draft import Draft, Var
from .forms import IN_PLACE, MATMULS
from .growth import forms_for, line, product


def transposed(draft: Draft, value: Var) -> Var:
    """Add a transpose on one line and a product that reads it on another."""
    view, label, back = draft.number(), draft.number(), draft.number()
    n = draft.extent()
    weight = draft.operand(n, value.extent)
    names = [f"x{draft.number()}" for _ in range(3)]
    swap = draft.rng.choice(["{}.transpose(-1, -2)", "{}.mT"])
    draft.forward.line(f"{names[0]} = {swap.format(value.name)}", view)
    draft.forward.line(f"{names[1]} = {weight} @ {names[0]}", label)
    draft.forward.line(f"{names[2]} = {swap.format(names[1])}", back)
    draft.touches(view, value.extent)
    product(draft, label, value.extent, n)
    draft.touches(back, n)
    return Var(names[2], n)


def split(draft: Draft, value: Var) -> Var:
    """Add a product, a split of its result, and a line that reads both parts."""
    m, n = draft.summands()
    whole = m + n
    label, view, left, right = (draft.number() for _ in range(4))
    weight = draft.operand(value.extent, whole)
    names = [f"x{draft.number()}" for _ in range(5)]
    draft.forward.line(f"{names[0]} = {value.name} @ {weight}", label)
    product(draft, label, value.extent, whole)
    cut = draft.rng.choice(
        ["split([{m}, {n}], dim=-1)", "tensor_split(({m},), dim=-1)"]
    )
    draft.forward.line(
        f"{names[1]}, {names[2]} = {names[0]}.{cut.format(m=m, n=n)}", view
    )
    for part, result, place, extent in (
        (names[1], names[3], left, m),
        (names[2], names[4], right, n),
    ):
        function = draft.rng.choice(["relu", "tanh", "exp"])
        draft.forward.line(f"{result} = torch.{function}({part})", place)
        draft.makes(place, extent)
        for touching in (view, place):
            draft.touches(touching, extent)
            draft.touches(touching, whole)
    draft.also_returns.append(names[3])
    return Var(names[4], n)


def reshaped(draft: Draft, value: Var) -> Var:
    """Add a view with one dimension more, a product on it, and the view back."""
    view, label, back = draft.number(), draft.number(), draft.number()
    n = draft.extent()
    weight = draft.operand(value.extent, n)
    names = [f"x{draft.number()}" for _ in range(3)]
    shape = ", ".join(map(str, draft.rows))
    there = draft.rng.choice(
        [f"{value.name}.unsqueeze(0)", f"{value.name}.view(1, {shape}, {value.extent})"]
    )
    and_back = draft.rng.choice(["{}.squeeze(0)", f"{{}}.reshape({shape}, {n})"])
    draft.forward.line(f"{names[0]} = {there}", view)
    draft.forward.line(f"{names[1]} = {names[0]} @ {weight}", label)
    draft.forward.line(f"{names[2]} = {and_back.format(names[1])}", back)
    draft.touches(view, value.extent)
    product(draft, label, value.extent, n)
    draft.touches(back, n)
    return Var(names[2], n)


def narrowed(draft: Draft, value: Var) -> Var:
    """Add a slice on one line and what reads it on another."""
    if not any(form.narrows for form in forms_for(draft, value)):
        return reshaped(draft, value)
    view, label = draft.number(), draft.number()
    n = draft.extent(below=value.extent)
    names = [f"x{draft.number()}" for _ in range(2)]
    cut = draft.rng.choice([f"[..., :{n}]", f".narrow(-1, 0, {n})", f"[..., -{n}:]"])
    draft.forward.line(f"{names[0]} = {value.name}{cut}", view)
    function = draft.rng.choice(["relu", "tanh", "exp", "abs"])
    draft.forward.line(f"{names[1]} = torch.{function}({names[0]})", label)
    for touching in (view, label):
        draft.touches(touching, value.extent)
    draft.touches(view, n)
    draft.makes(label, n)
    return Var(names[1], n)


def broadcast(draft: Draft, value: Var) -> Var:
    """Add a view of a vector that is broadcast to the rows of a product."""
    view, label = draft.number(), draft.number()
    n = draft.extent()
    vector, weight = draft.operand(n), draft.operand(value.extent, n)
    names = [f"x{draft.number()}" for _ in range(2)]
    shape = ", ".join(map(str, (*draft.rows, n)))
    wide = draft.rng.choice(
        [f"{vector}.expand({shape})", f"{vector}[None].expand({shape})"]
    )
    draft.forward.line(f"{names[0]} = {wide}", view)
    draft.forward.line(f"{names[1]} = {value.name} @ {weight} + {names[0]}", label)
    draft.touches(view, n)
    product(draft, label, value.extent, n)
    return Var(names[1], n)


VIEWS = (transposed, split, reshaped, narrowed, broadcast)
"""Ways to go from one value to the next through a view."""


def updates(draft: Draft, value: Var, taken: frozenset[str]) -> None:
    """Add one to three updates of a whole value, each of another device op.

    Args:
        draft: The program.
        value: What is updated.
        taken: Device ops that other lines of its extent have.
    """
    for _ in range(draft.rng.randint(1, 3)):
        form = draft.rng.choice([form for form in IN_PLACE if not form.ops & taken])
        taken |= form.ops
        label = draft.number()
        names = {name: draft.operand(value.extent) for name in form.operands}
        draft.forward.line(form.text.format(x=value.name, **names), label)
        draft.makes(label, value.extent, form.ops)


def part_update(draft: Draft, value: Var) -> None:
    """Add an update of a slice, whose extent is its own."""
    if not draft.has_extent(below=value.extent):
        return
    label = draft.number()
    n = draft.extent(below=value.extent)
    operand = draft.operand(n)
    text = draft.rng.choice(
        [
            f"{value.name}[..., :{n}] *= {operand}",
            f"{value.name}[..., :{n}].add_({operand})",
            f"{value.name}[..., :{n}] = torch.relu({operand})",
        ]
    )
    draft.forward.line(text, label)
    draft.makes(label, n)
    draft.touches(label, value.extent)


def product_to_update(draft: Draft, value: Var) -> tuple[Var, frozenset[str]]:
    """Add a product; return it, and the device ops that it takes."""
    forms = forms_for(draft, value, MATMULS)
    form = draft.rng.choice(forms)
    return line(draft, value, form), form.ops
