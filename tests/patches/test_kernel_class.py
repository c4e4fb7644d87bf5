"""A scheduling class whose kernels can be of another class."""

from __future__ import annotations

import pytest

from patches.checkout import Checkout
from patches.errors import UnrecognisedError
from patches.kernel_class import CODEMOD, name_kernel_class
from patches.syntax import parse


def rewritten(source: str) -> str:
    """Return what the codemod makes of a scheduler module."""
    return name_kernel_class(parse(source.encode())).code


def test_the_attribute_decides_what_is_built(checkout, load):
    """A kernel is a SpyreKernel by default, in a subclass what the subclass says."""
    Checkout(checkout).write(CODEMOD.changes(Checkout(checkout)))
    scheduler = load("scheduler")

    class OwnKernel(scheduler.SpyreKernel):
        pass

    class OwnScheduling(scheduler.SuperDSCScheduling):
        kernel_class = OwnKernel

    for node in ("op", "loop"):
        for scheduling, expected in (
            (scheduler.SuperDSCScheduling, scheduler.SpyreKernel),
            (OwnScheduling, OwnKernel),
        ):
            kernel = scheduling().codegen_node(node)
            assert (expected, [node]) == (type(kernel), kernel.op_specs)


def test_layout_and_line_endings_are_kept():
    """The attribute comes after the docstring; the file keeps its line endings."""
    source = (
        "class SuperDSCScheduling:\r\n"
        '    """Schedules."""\r\n'
        "\r\n"
        "    def codegen_node(self, node):\r\n"
        "        return SpyreKernel()  # one\r\n"
    )

    assert (
        "class SuperDSCScheduling:\r\n"
        '    """Schedules."""\r\n'
        "\r\n"
        "    # What builds this class's kernels; a subclass may name another.\r\n"
        "    kernel_class: type[SpyreKernel] = SpyreKernel\r\n"
        "\r\n"
        "    def codegen_node(self, node):\r\n"
        "        return self.kernel_class()  # one\r\n"
    ) == rewritten(source)


SCHEDULING = """\
class SuperDSCScheduling:
    def codegen_node({}):
        return SpyreKernel()
"""


@pytest.mark.parametrize(
    ("source", "complaint"),
    [
        ("", "no class SuperDSCScheduling, where one was expected"),
        (
            "class SuperDSCScheduling:\n    def codegen_node(self):\n        pass\n",
            "SuperDSCScheduling builds no SpyreKernel",
        ),
        (
            SCHEDULING.format("self") + "def other():\n    return SpyreKernel()\n",
            "SpyreKernel is built outside of SuperDSCScheduling, too",
        ),
        (
            SCHEDULING.format("node"),
            "codegen_node builds a SpyreKernel without self",
        ),
        (
            SCHEDULING.format(""),
            "codegen_node has 0 parameters, where 1 were expected",
        ),
    ],
)
def test_other_shapes_are_not_recognised(source, complaint):
    """Where the attribute would not decide about every kernel, it is not added."""
    with pytest.raises(UnrecognisedError) as caught:
        rewritten(source)
    assert f"{complaint} [unrecognised]" == str(caught.value)
