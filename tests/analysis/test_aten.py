"""Names of operators, however they are written."""

from __future__ import annotations

import pytest

from torch_spyre_provenance.analysis.aten import is_view, packet


@pytest.mark.parametrize(
    ("target", "name"),
    [
        ("aten.mm.default", "mm"),
        ("aten.add.Tensor", "add"),
        ("prims.convert_element_type.default", "convert_element_type"),
        ("spyre.layernormscale.default", "layernormscale"),
        ("aten.clone", "clone"),
        ("torch._C._nn.linear", "linear"),
        ("torch._VariableFunctionsClass.relu", "relu"),
        ("_operator.matmul", "matmul"),
        ("torch.nn.modules.linear.Linear", "Linear"),
        ("transpose", "transpose"),
        ("<built-in function linear>", "linear"),
        ("<built-in method relu of type object", "relu"),
        ("<function layer_norm at 0x7f0000000000>", "layer_norm"),
        ("<class 'torch.nn.modules.linear.Linear'>", "Linear"),
        ("<>", ""),
        ("", ""),
        (None, ""),
    ],
)
def test_the_bare_name(target, name):
    """Overloads, functions, methods and their prints name the same operator."""
    assert packet(target) == name


def test_views_are_told_from_what_computes():
    """A permutation looks at memory; a copy computes."""
    assert is_view("aten.permute.default")
    assert not is_view("aten.clone.default")
    assert not is_view("aten.mm.default")
