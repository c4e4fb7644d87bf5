"""Random programs over the operators equal eager."""

from __future__ import annotations

import pytest
import torch
from eager_comparison import on_device
from frontends.reference.programs import Line, Program, programs
from hypothesis import HealthCheck, given, settings

from torch_spyre_provenance.frontends.reference import config

TOLERANCE = 1e-3
"""Largest relative and absolute difference in fp32, after up to fifteen lines."""

FEW, MANY = 8, 200
"""How many programs are compiled by default, and with ``--update-goldens``."""

FOUND: dict[str, Program] = {
    "a row of one element is normalized": Program(
        size=1, lines=(Line(name="normalize", operands=(0, 1)),)
    ),
    "columns are put behind one column": Program(
        size=33,
        lines=(
            Line(name="halves", operands=(0, 1)),
            Line(name="lay out", operands=(2, 0)),
        ),
        transposed=True,
    ),
}
"""Programs that once were compiled to something wrong, by what was wrong."""


def assert_equals_eager(program):
    """Compile a program for the device, and compare its results with eager."""
    torch._dynamo.reset()
    with torch.no_grad():
        inputs = program.inputs()
        expected = program(*inputs)
        actual = torch.compile(program.__call__)(*map(on_device, inputs))
    for want, got in zip(expected, actual, strict=True):
        assert want.shape == got.shape
        torch.testing.assert_close(got.cpu(), want, rtol=TOLERANCE, atol=TOLERANCE)


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("span", [config.max_span_bytes, 1024])
def test_random_programs(compiled, request, span):
    """Whatever the lines are and read, in loops or not, the results are eager's."""
    everything = request.config.getoption("--update-goldens")

    @settings(
        max_examples=MANY if everything else FEW,
        derandomize=not everything,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(programs())
    def check(program):
        with config.patch(max_span_bytes=span):
            assert_equals_eager(program)

    check()


@pytest.mark.parametrize("name", FOUND)
def test_programs_that_were_wrong(compiled, name):
    """What random programs have found stays right."""
    assert_equals_eager(FOUND[name])
