"""Expressions that are printed once: the texts are those that printing each gives."""

from __future__ import annotations

import pytest
import sympy

from torch_spyre_provenance.recording.op_specs import ExpressionTexts

C0, C1 = sympy.symbols("c0 c1", integer=True)
VALUES = (
    0,
    1,
    True,
    1.0,
    "c0",
    None,
    C0,
    sympy.Symbol("c0"),
    sympy.Dummy("c0"),
    *map(sympy.Integer, (-64, -1, 0, 1, 64)),
    sympy.Float(1),
    sympy.true,
    sympy.Rational(1, 2),
    C0 + 64 * C1,
    sympy.Mod(C0, 64),
    sympy.floor(C1 / 64),
)


@pytest.mark.parametrize("order", [1, -1])
def test_texts_are_what_printing_gives(order):
    """Whatever came before, and however equal it is, a value has its own text."""
    texts = ExpressionTexts()
    values = VALUES[::order] * 2

    assert [str(value) for value in values] == [texts.text(value) for value in values]


def test_an_expression_is_printed_once():
    """The second time the very same text is returned."""
    texts = ExpressionTexts()

    assert texts.text(C0 + 64 * C1) is texts.text(64 * C1 + C0)
