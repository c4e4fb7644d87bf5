"""Every operator in every type and form equals eager; so do programs made of them.

By default some of the operators and a few programs are compiled. With
``--update-goldens`` all are, and the table in ``docs/operators.md`` is written from
what they were compiled to.
"""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from attrs import frozen
from eager_comparison import TOLERANCE, on_device
from frontends.reference.operators import FORMS, OPERATORS, operands

DOCS = Path(__file__).parents[3] / "docs" / "operators.md"

HEAD = """\
# Operators

What the reference front end makes of each operator: the device ops, or *host* where
there are none. Library calls that compute a part of an operator are not shown. Every
cell was compiled for six forms (contiguous, transposed, broadcast, one row, one column,
and a shape that ends inside a stick) and compared with eager: equal to 2 % in fp16, 4 %
in bf16 and 0.01 % in fp32, the rest exactly. The table is written by a test run:

    make operators

| operator | {dtypes} |
|---|{rules}|
"""

SAMPLE_STEP = 9
"""One in so many cases is compiled by default."""

CASES = [
    (name, dtype) for name, operator in OPERATORS.items() for dtype in operator.dtypes
]
COLUMNS = list(dict.fromkeys(dtype for _, dtype in CASES))


@frozen(kw_only=True)
class Cell:
    """What one operator was compiled to, in one type."""

    operator: str
    dtype: torch.dtype
    ops: tuple[str, ...]


@pytest.fixture(scope="module")
def cells(request):
    """Collect what was compiled, and write the table if it is to be updated."""
    collected = []
    yield collected
    if request.config.getoption("--update-goldens"):
        DOCS.write_text(table(collected))


def pytest_generate_tests(metafunc):
    """Run everything where the table is to be written, else the sample."""
    if "case" in metafunc.fixturenames:
        step = 1 if metafunc.config.getoption("--update-goldens") else SAMPLE_STEP
        chosen = CASES[::step]
        names = [f"{name}-{dtype}" for name, dtype in chosen]
        metafunc.parametrize("case", chosen, ids=names)


def table(collected):
    """Return the page with a line for each operator."""
    found = {(cell.operator, cell.dtype): cell.ops for cell in collected}
    names = [str(dtype).removeprefix("torch.") for dtype in COLUMNS]
    lines = [HEAD.format(dtypes=" | ".join(names), rules="|".join("-" * len(COLUMNS)))]
    for name in OPERATORS:
        shown = [
            (", ".join(found[name, dtype]) or "*host*")
            if (name, dtype) in found
            else ""
            for dtype in COLUMNS
        ]
        lines.append(f"| {name} | {' | '.join(shown)} |\n")
    return "".join(lines)


def flat(value):
    """Return the tensors of a nested tuple."""
    if isinstance(value, torch.Tensor):
        return [value]
    return [tensor for item in value for tensor in flat(item)]


@pytest.mark.slow
def test_operator(compiled, cells, case):
    """Its results have eager's types, shapes and values, whatever form they come in."""
    name, dtype = case
    operator = OPERATORS[name]
    inputs = {form: operands(dtype, form, positive=operator.positive) for form in FORMS}

    def every_form(inputs):
        return tuple(operator.call(*pair) for pair in inputs.values())

    with torch.no_grad():
        expected = flat(every_form(inputs))
        moved = {form: tuple(map(on_device, pair)) for form, pair in inputs.items()}
        actual = flat(torch.compile(every_form)(moved))
    for want, got in zip(expected, actual, strict=True):
        tolerance = TOLERANCE.get(want.dtype, 0)
        torch.testing.assert_close(got.cpu(), want, rtol=tolerance, atol=tolerance)
    ops = dict.fromkeys(op for kernel in compiled.ops for op in kernel)
    cells.append(Cell(operator=name, dtype=dtype, ops=tuple(ops)))
