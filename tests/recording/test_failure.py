"""What is said of a compile that broke off: the error, the op and the line."""

from __future__ import annotations

import pytest
import torch
from torch._inductor import config
from torch._inductor.custom_graph_pass import CustomGraphPass

import torch_spyre_provenance
from torch_spyre_provenance.backend import spyre_provenance
from torch_spyre_provenance.recording.failure import describe_failure, subjects_of


class Refusing(CustomGraphPass):
    """A pass that hands nodes to a function, which may raise."""

    def __init__(self, refuse):
        self.refuse = refuse

    def __call__(self, graph):
        """Call the function with every node."""
        for node in graph.nodes:
            self.refuse(node)

    def uuid(self):
        """Return something that is never the same, so that no cache answers."""
        return repr(self)


def refuse_add(node):
    """Raise at an addition."""
    if "add" in str(node.target):
        raise ArithmeticError("no additions")


def model(x):
    """Return what takes two ops, on two lines."""
    x = torch.relu(x)
    return x + x


LINE = model.__code__.co_firstlineno


def break_off(out, option, backend="inductor"):
    """Compile `model` with a pass that refuses, and return what was recorded."""
    torch._dynamo.reset()
    with (
        torch_spyre_provenance.record(out=out) as recording,
        config.patch({option: Refusing(refuse_add)}),
        pytest.raises(torch._dynamo.exc.BackendCompilerFailed, match="no additions"),
    ):
        torch.compile(model, backend=backend)(torch.ones(8, 64).to("spyre"))
    assert [] == [each for each in recording.observations() if each.failed]
    (done,) = recording.bundles
    return torch_spyre_provenance.load(done.path)


@pytest.mark.parametrize("backend", ["inductor", spyre_provenance])
def test_the_op_and_its_line_are_named(tmp_path, backend):
    """The innermost function that was given an op says where the compile stood."""
    bundle = break_off(tmp_path, "post_grad_custom_post_pass", backend)
    where = f"{__file__}:{LINE + 3}"
    expected = f"ArithmeticError: no additions; at add (aten.add.Tensor), {where}"
    assert expected == bundle.compile.error
    assert 2 == len(bundle.fx_pre_grad.nodes)
    assert None is bundle.fx_post_grad
    assert "reference" == bundle.compile.front_end


def test_versions_are_known_of_a_failure(tmp_path):
    """A bundle of a failure says what was compiled with."""
    bundle = break_off(tmp_path, "post_grad_custom_post_pass")
    assert dict(bundle.run.versions)["torch"] == str(torch.__version__)


def caught(function, *args):
    """Return what a function raises."""
    with pytest.raises(ArithmeticError) as found:
        function(*args)
    return found.value


def node(name, **meta):
    """Return an FX node that computes something."""
    graph = torch.fx.Graph()
    made = graph.call_function(torch.relu, (graph.placeholder("x"),), name=name)
    made.meta.update({"val": torch.ones(2), **meta})
    return made


def trace(line):
    """Return a stack trace of one frame."""
    return f'  File "/models/m.py", line {line}, in forward\n    x = torch.relu(x)\n'


def fail(*_):
    """Raise, whatever is given."""
    raise ArithmeticError("refused")


def test_what_is_left_over_in_a_variable_is_not_named():
    """A function's other variables say nothing about what it works on."""

    def loop(nodes):
        for leftover in nodes:  # noqa: B007 - that is what is tested
            pass
        raise ArithmeticError("refused")

    nodes = [node("first", stack_trace=trace(3))]
    assert () == subjects_of(caught(loop, nodes))
    assert "ArithmeticError: refused" == describe_failure(caught(loop, nodes))


def test_the_innermost_op_is_named():
    """Functions further out were given what contains it."""

    def outer(each, other):
        inner(other)

    def inner(each):
        fail()

    first, second = (node(n, stack_trace=trace(n[-1])) for n in ("n1", "n2"))
    error = caught(outer, first, second)
    (subject,) = subjects_of(error)
    assert ("/models/m.py:2",) == subject.lines
    assert {"cpu"} == subject.devices


def test_nodes_that_compute_no_tensor_are_passed_over():
    """The loop body of an op is an FX graph, too, and not the model's."""
    inner = node("load")
    del inner.meta["val"]

    def outer(each):
        fail_at(inner)

    def fail_at(each):
        fail()

    (subject,) = subjects_of(caught(outer, node("relu")))
    assert subject.name.startswith("relu (")
    assert () == subject.lines


def test_a_kernel_is_named_by_its_name():
    """The kernel's compiler is given a name, and says nothing of ops."""

    def sdsc(kernel_name, specs):
        fail(specs)

    error = caught(sdsc, "sdsc_fused_add_0", [])
    assert "ArithmeticError: refused; at kernel sdsc_fused_add_0" == (
        describe_failure(error)
    )


def test_many_ops_are_counted():
    """A function that was given many ops does not fill the line with them."""

    def fused(a, b, c, d, e, f):  # noqa: PLR0913, PLR0917 - that is what is tested
        fail()

    nodes = [node(f"n{i}", stack_trace=trace(i)) for i in range(1, 7)]
    text = describe_failure(caught(fused, *nodes))
    assert 2 == text.count("and 2 more")
    assert "/models/m.py:4, and 2 more" in text
