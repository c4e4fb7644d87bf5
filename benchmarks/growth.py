"""Lines for a draft: each reads a value and makes one, and the draft notes which."""

from __future__ import annotations

from collections.abc import Iterable

from attrs import frozen

from .draft import Draft, Var
from .forms import CHAINING, POINTWISE, Form
from .truth import MATMUL


@frozen(kw_only=True)
class Call:
    """An expression inside a function, and the call of that function.

    Attributes:
        label: Label of the expression's line.
        text: The expression, in terms of the parameters.
        extent: The extent that it makes.
        parameters: The function's parameters.
        arguments: What is passed for them.
    """

    label: int
    text: str
    extent: int
    parameters: str
    arguments: str


def forms_for(
    draft: Draft, value: Var, forms: Iterable[Form] = CHAINING
) -> tuple[Form, ...]:
    """Return the forms that can read a value so that its line can be told."""
    return tuple(form for form in forms if _fits(draft, form, value))


def _fits(draft: Draft, form: Form, value: Var) -> bool:
    if len(draft.rows) not in form.rows or (draft.trains and not form.trains):
        return False
    if form.narrows and not draft.has_extent(below=value.extent):
        return False
    return not form.reduces or draft.can_reduce(value.extent)


def grown(draft: Draft, values: list[Var]) -> Var:
    """Add a line that reads one of the values, mostly the last; return its result."""
    rng = draft.rng
    value = values[-1] if rng.random() < 0.75 else rng.choice(values)
    if rng.random() < 0.3:
        kept = _kept(draft, value)
        if kept is not None:
            return kept
    return line(draft, value, rng.choice(forms_for(draft, value)))


def _kept(draft: Draft, value: Var) -> Var | None:
    """Add a line that keeps the extent of its value, where its op tells it apart."""
    taken = draft.ops_of(value.extent)
    if taken is None or (draft.trains and taken != {MATMUL}):
        return None
    form = draft.rng.choice([form for form in POINTWISE if not form.ops & taken])
    label = draft.number()
    names = {name: draft.operand(value.extent) for name in form.operands}
    # The gradients of a pointwise op are other ops, and none of them is a product.
    draft.makes(label, value.extent, () if draft.trains else form.ops)
    return _assigned(
        draft, form.text.format(x=value.name, **names), label, value.extent
    )


def line(draft: Draft, value: Var, form: Form) -> Var:
    """Add a line of a form to the model's forward; return its result."""
    label = draft.number()
    text, extent = expression(draft, label, value, form)
    return _assigned(draft, text, label, extent)


def _assigned(draft: Draft, text: str, label: int, extent: int) -> Var:
    result = Var(f"x{draft.number()}", extent)
    draft.forward.line(f"{result.name} = {text}", label)
    return result


def expression(draft: Draft, label: int, value: Var, form: Form) -> tuple[str, int]:
    """Return an expression that reads a value, and the extent that it makes."""
    n = draft.extent(below=value.extent if form.narrows else None)
    names = {
        name: draft.operand(*draft.shape(dims, value.extent, n))
        for name, dims in form.operands.items()
    }
    draft.note(form, label, value.extent, n)
    return form.text.format(x=value.name, n=n, **names), n


def around(draft: Draft, label: int, text: str, extent: int) -> tuple[str, int]:
    """Return an expression with a product around it, and the extent of that."""
    n = draft.extent()
    weight = draft.operand(extent, n)
    product(draft, label, extent, n)
    return f"torch.relu(({text}) @ {weight})", n


def product(draft: Draft, label: int, k: int, n: int, ops: Iterable[str] = ()) -> None:
    """Note that a line multiplies a value of extent `k` with a ``(k, n)`` weight."""
    draft.touches(label, k)
    draft.touches(label, k, n)
    draft.makes(label, n, ops)


def alone(draft: Draft, form: Form) -> str:
    """Add a line all of whose operands are its own; return its variable."""
    k, n = draft.extent(), draft.extent()
    if form.narrows:
        k, n = max(k, n), min(k, n)
    label = draft.number()
    # Its rows are its own too, so that what it computes for each row tells its line.
    draft.rows = (*draft.rows[:-1], draft.extent())
    names = {
        name: draft.operand(*draft.shape(dims, k, n))
        for name, dims in form.operands.items()
    }
    if "{x}" in form.text:
        names["x"] = draft.argument(*draft.rows, k)
    draft.makes(label, draft.rows[-1])
    draft.makes(label, k)
    draft.note(form, label, k, n)
    return _assigned(draft, form.text.format(n=n, **names), label, n).name


def call(draft: Draft, value: Var) -> Call:
    """Return an expression to be put into a function, and how to call that."""
    form = draft.rng.choice(forms_for(draft, value))
    n = draft.extent(below=value.extent if form.narrows else None)
    label = draft.number()
    operands = [
        draft.operand(*draft.shape(dims, value.extent, n))
        for dims in form.operands.values()
    ]
    draft.note(form, label, value.extent, n)
    names = {name: name for name in form.operands}
    return Call(
        label=label,
        text=form.text.format(x="x", n=n, **names),
        extent=n,
        parameters=", ".join(["x", *names]),
        arguments=", ".join([value.name, *operands]),
    )
