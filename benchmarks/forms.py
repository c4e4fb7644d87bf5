"""The expressions that generated lines are made of, as a table.

In an expression, ``{x}`` is the value that the line reads and ``{n}`` its own extent;
the other names are operands. Dimensions are letters: ``k`` is the last extent of ``x``,
``n`` the line's own, ``r`` stands for all the rows and ``B`` for their batch.
"""

from __future__ import annotations

from collections.abc import Mapping

from attrs import field, frozen

from .truth import MATMUL


@frozen(kw_only=True)
class Form:
    """One kind of expression.

    Attributes:
        name: The operator that it is about.
        text: The expression.
        operands: The dimensions of each operand.
        ops: The device's names for what it computes; empty where front ends may differ.
        rows: Numbers of row dimensions for which it is valid.
        trains: Whether its gradients have extents that tell its line.
        reduces: Whether it reduces `x` without making its own extent.
        inner: Whether it reduces its own extent.
        narrows: Whether its own extent has to be smaller than `k`.
    """

    name: str
    text: str
    operands: Mapping[str, str] = field(factory=dict)
    ops: frozenset[str] = frozenset()
    rows: tuple[int, ...] = (1, 2)
    trains: bool = True
    reduces: bool = False
    inner: bool = False
    narrows: bool = False


def _form(text: str, operands: str = "", ops: str = "", **facts: object) -> Form:
    """Return a form; operands read ``w:kn b:n``, ops are names separated by blanks."""
    pairs = (each.split(":") for each in operands.split())
    name = str(facts.pop("name", "")) or text.partition("(")[0].rpartition(".")[2]
    return Form(
        name=name,
        text=text,
        operands=dict(pairs),
        ops=frozenset(ops.split()),
        **facts,  # type: ignore[arg-type]
    )


MATMULS = (
    _form("{x} @ {w}", "w:kn", MATMUL, name="matmul"),
    _form("{x} @ {w}.t()", "w:nk", MATMUL, name="matmul of a transpose"),
    _form("torch.matmul({x}, {w}) + {b}", "w:kn b:n", f"{MATMUL} add"),
    _form("torch.mm({x}, {w})", "w:kn", MATMUL, rows=(1,)),
    _form("torch.addmm({b}, {x}, {w})", "b:n w:kn", f"{MATMUL} add", rows=(1,)),
    _form("({w} @ {x}.t()).t()", "w:nk", MATMUL, name="transposed matmul", rows=(1,)),
    _form("F.linear({x}, {w})", "w:nk", MATMUL),
    _form("F.linear({x}, {w}, {b})", "w:nk b:n", f"{MATMUL} add", name="linear, bias"),
    _form("torch.relu({x} @ {w})", "w:kn", f"{MATMUL} relufwd"),
    _form("torch.relu(F.linear({x}, {w}, {b}))", "w:nk b:n", f"{MATMUL} add relufwd"),
    _form("torch.tanh({x} @ {w} + {b})", "w:kn b:n", f"{MATMUL} add tanh"),
    _form("torch.sigmoid({x} @ {w}) * {v}", "w:kn v:n", f"{MATMUL} sigmoid mul"),
)
"""Lines that make their extent by one matrix product, and little besides."""

MIXTURES = (
    _form("({x} @ {w}) * 2.0 + 0.5", "w:kn", name="constants"),
    _form("{x} @ {w} / ({v} + 1.0)", "w:kn v:n", name="division"),
    _form("torch.softmax({x} @ {w}, dim=-1)", "w:kn", inner=True),
    _form("torch.log_softmax({x} @ {w}, dim=-1)", "w:kn", inner=True),
    _form("F.layer_norm({x} @ {w}, ({n},), {g}, {b})", "w:kn g:n b:n", inner=True),
    _form("F.rms_norm({x} @ {w}, ({n},), {g})", "w:kn g:n", inner=True),
    _form("F.gelu({x} @ {w})", "w:kn"),
    _form("F.silu({x} @ {w})", "w:kn"),
    _form("F.softplus({x} @ {w})", "w:kn"),
    _form("torch.clamp({x} @ {w}, -1.0, 1.0)", "w:kn"),
    _form("torch.square({x} @ {w})", "w:kn"),
    _form(
        "torch.where({x} @ {w} > 0.0, {v}, {u})",
        "w:kn v:n u:n",
        trains=False,
    ),
    _form("({x} @ {w}).contiguous()", "w:kn", name="contiguous"),
    _form("({x} @ {w}).clone()", "w:kn", name="clone"),
    _form("torch.cumsum({x} @ {w}, dim=-1)", "w:kn", trains=False),
    _form("({x} @ {w}).float().half()", "w:kn", name="casts", trains=False),
    _form(
        "{x}[..., :{n}] * {v}", "v:n", "mul", name="slice", trains=False, narrows=True
    ),
    _form("torch.exp({x}[..., :{n}])", "", "exp", trains=False, narrows=True),
    _form(
        "{x}.sum(-1, keepdim=True) * {v}", "v:n", name="sum", trains=False, reduces=True
    ),
    _form(
        "{x}.amax(-1, keepdim=True) - {v}",
        "v:n",
        name="amax",
        trains=False,
        reduces=True,
    ),
    _form(
        "{x}.mean(-1, keepdim=True) + {v}",
        "v:n",
        name="mean",
        trains=False,
        reduces=True,
    ),
)
"""Lines that make their extent and do more with it, in ways that front ends choose."""

CHAINING = MATMULS + MIXTURES
"""All forms by which one line can follow another."""

POINTWISE = (
    _form("torch.abs({x})", "", "abs"),
    _form("torch.exp({x})", "", "exp"),
    _form("torch.neg({x})", "", "neg"),
    _form("torch.relu({x})", "", "relufwd"),
    _form("torch.sigmoid({x})", "", "sigmoid"),
    _form("torch.tanh({x})", "", "tanh"),
    _form("{x} + {b}", "b:n", "add", name="add"),
    _form("{x} - {b}", "b:n", "sub", name="sub"),
    _form("{x} * {b}", "b:n", "mul", name="mul"),
    _form("{x} / {b}", "b:n", "realdiv", name="div"),
)
"""Lines that keep the extent of what they read; one device op each."""

IN_PLACE = (
    _form("{x}.add_({b})", "b:n", "add"),
    _form("{x}.mul_({b})", "b:n", "mul"),
    _form("{x}.sub_({b})", "b:n", "sub"),
    _form("{x}.abs_()", "", "abs"),
    _form("{x}.neg_()", "", "neg"),
    _form("{x}.relu_()", "", "relufwd"),
    _form("{x}.tanh_()", "", "tanh"),
    _form("{x}.sigmoid_()", "", "sigmoid"),
    _form("{x} += {b}", "b:n", "add", name="+="),
    _form("{x} *= {b}", "b:n", "mul", name="*="),
)
"""Statements that change what they read; one device op each."""

_UNARY = (
    *("abs", "exp", "floor", "log", "neg", "reciprocal", "relu", "rsqrt", "sigmoid"),
    *("sqrt", "square", "tanh"),
)
_COMPARISONS = ("eq", "ge", "gt", "le", "lt", "ne")

SINGLES = (
    *(_form(f"torch.{name}({{a}})", "a:rn") for name in _UNARY),
    *(
        _form(f"torch.{name}({{a}}, {{b}})", "a:rn b:rn")
        for name in ("add", "sub", "mul", "div", "maximum", "minimum")
    ),
    *(
        _form(
            f"torch.where(torch.{name}({{a}}, {{b}}), {{a}}, {{c}})",
            "a:rn b:rn c:rn",
            name=name,
        )
        for name in _COMPARISONS
    ),
    _form(
        "torch.where(torch.logical_and({a} > {b}, {a} > {c}), {a}, {c})",
        "a:rn b:rn c:rn",
        name="logical_and",
    ),
    _form("torch.add({a}, 1.5)", "a:rn", name="add, number"),
    _form("{a} * {v}", "a:rn v:n", name="mul, broadcast"),
    _form("torch.clamp({a}, min=0.0)", "a:rn", name="clamp, minimum"),
    _form("F.leaky_relu({a})", "a:rn"),
    _form("F.gelu({a}, approximate='tanh')", "a:rn", name="gelu, tanh"),
    *(
        _form(f"{{a}}.{name}(-1)", "a:rn", name=name)
        for name in ("amax", "amin", "mean", "sum")
    ),
    *(
        _form(f"{{a}}.{name}(0)", "a:rn", name=f"{name}, rows")
        for name in ("amax", "mean", "sum")
    ),
    _form("torch.softmax({a}, dim=-1)", "a:rn"),
    _form("torch.softmax({a}, dim=0)", "a:rn", name="softmax, rows", rows=(1,)),
    _form("F.layer_norm({a}, ({n},))", "a:rn", name="layer_norm, plain"),
    _form("{a}.to(torch.float32)", "a:rn", name="to"),
    _form("{a}.transpose(-1, -2).contiguous()", "a:rn", name="transpose"),
    _form("{a}.t() + {b}", "a:rn b:nr", name="add, transposed", rows=(1,)),
    _form("{v}.unsqueeze(0).expand(7, {n}) * {u}", "v:n u:n", name="expand"),
    _form("torch.bmm({a}, {b})", "a:rn b:Bnk", rows=(2,)),
    _form("torch.baddbmm({c}, {a}, {b})", "c:rk a:rn b:Bnk", rows=(2,)),
    _form("{a} @ {b}.transpose(-1, -2)", "a:rn b:rn", name="scores"),
    _form("torch.cat([{a}, {b}], dim=0)", "a:rn b:rn"),
)
"""Lines about one operator each, whose operands no other line has."""
