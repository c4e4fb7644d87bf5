"""OpSpecs that say which buffer they compute."""

from __future__ import annotations

import dataclasses
from types import SimpleNamespace

import pytest

from patches.buffer_name import CODEMOD, declare_field, expect_field, fill_field
from patches.checkout import Checkout
from patches.errors import UnrecognisedError
from patches.syntax import parse


def node(name: str) -> SimpleNamespace:
    """Return a scheduled node whose buffer has a name."""
    buffer = SimpleNamespace(tiled_symbols=["c0"], get_name=lambda: name)
    return SimpleNamespace(node=buffer)


def test_a_spec_names_its_buffer(checkout, load):
    """The builder fills the last field in; equality and the other fields ignore it."""
    Checkout(checkout).write(CODEMOD.changes(Checkout(checkout)))
    kernel = load("spyre_kernel").SpyreKernel()
    op_spec = load("op_spec").OpSpec

    kernel.current_node = node("buf3")
    third = kernel.create_op_spec("add", ["x", "y"])
    kernel.current_node = node("buf4")
    fourth = kernel.create_op_spec("add", ["x", "y"])

    assert ("buf3", "buf4") == (third.buffer_name, fourth.buffer_name)
    assert third == fourth == op_spec("add", ["x", "y"], ["c0"])
    assert op_spec("add", []).buffer_name is None
    assert ["op", "args", "tiled_symbols", "buffer_name"] == [
        field.name for field in dataclasses.fields(op_spec)
    ]


BUILDER = """\
class SpyreKernel:
    def create_op_spec(self, op):
        buffer = self.current_node.node
        return {}
"""


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        ("OpSpec(op)", "OpSpec(op, {})"),
        ("OpSpec(op, [])", "OpSpec(op, [], {})"),
        ("OpSpec(\n op,\n )", "OpSpec(\n op,\n {},\n )"),
        ("OpSpec(\n op, []\n )", "OpSpec(\n op, [], {}\n )"),
        ("OpSpec(\n op,\n args=[],\n )", "OpSpec(\n op,\n args=[],\n {},\n )"),
    ],
)
def test_the_argument_is_laid_out_like_the_others(call, expected):
    """One line stays one line, and one argument a line stays that."""
    added = expected.format("buffer_name=buffer.get_name()")

    assert (
        BUILDER.format(added) == fill_field(parse(BUILDER.format(call).encode())).code
    )


SCHEMA = '_EXPECTED_OP_SPEC_SCHEMA = {{\n    "op": "str",\n{}}}\n'


def test_a_list_of_known_fields_gets_to_know_it(checkout):
    """Releases that refuse specs with fields they do not expect expect this one."""
    path = checkout / "torch_spyre/_inductor/kernel_provenance.py"
    path.write_text(SCHEMA.format('    "args": "list[str]",\n'))

    Checkout(checkout).write(CODEMOD.changes(Checkout(checkout)))

    entries = '    "args": "list[str]",\n    "buffer_name": "str | None",\n'
    assert SCHEMA.format(entries) == path.read_text()
    assert () == CODEMOD.changes(Checkout(checkout))


@pytest.mark.parametrize(
    ("rewrite", "source", "complaint"),
    [
        (declare_field, "class OpSpec:\n    op: str\n", "OpSpec is not decorated"),
        (
            declare_field,
            "@dataclasses.dataclass\nclass OpSpec:\n    pass\n",
            "OpSpec has no fields",
        ),
        (fill_field, "class SpyreKernel:\n    pass\n", "no function create_op_spec"),
        (fill_field, BUILDER.format("spec(op)"), "no call of OpSpec"),
        (fill_field, BUILDER.format("OpSpec(OpSpec(op))"), "2 call of OpSpec"),
        (
            fill_field,
            "class SpyreKernel:\n    def create_op_spec(self):\n        OpSpec(1)\n",
            "no name for the buffer",
        ),
        (expect_field, "fields = {}\n", "no _EXPECTED_OP_SPEC_SCHEMA"),
        (
            expect_field,
            "_EXPECTED_OP_SPEC_SCHEMA = {}\n",
            "_EXPECTED_OP_SPEC_SCHEMA is",
        ),
    ],
)
def test_other_shapes_are_not_recognised(rewrite, source, complaint):
    """Where it is not clear what to do, nothing is done."""
    with pytest.raises(UnrecognisedError, match=complaint):
        rewrite(parse(source.encode()))
