"""Questions: what is found by which name, and what is near where nothing is."""

from __future__ import annotations

import pytest
from attrs import evolve
from bundle_factory import (
    KERNEL,
    bundle,
    fx,
    handle,
    ir,
    kernel,
    line,
    recorded,
    run_facts,
    sdsc,
    spec,
)

from torch_spyre_provenance.analysis.attribution import Attributor
from torch_spyre_provenance.analysis.questions import Answer, Subject, answer
from torch_spyre_provenance.errors import NotFoundError
from torch_spyre_provenance.model import Frame, KernelFiles, ModuleCall

RELU = "aten.relu.default"
KEY = "abcdefgh234567yz"


def model():
    """Return a bundle of three lines; the last one is called from line 30."""
    called = (
        Frame(file="/models/model.py", line=30, function="forward", text="f(x)"),
        *line(7, "x = x.relu()", file="/models/inner/parts.py"),
    )
    pre = tuple(fx(f"n{n}", "relu", stack=n) for n in range(4))
    post = tuple(
        fx(f"p{n}", RELU, stack=n, aten=RELU, module=module)
        for n, module in enumerate(("layers.1", "layers.1.fc", "layers.10"))
    )
    files = KernelFiles(
        kernel=KERNEL,
        directory="/cache/kernel_0",
        sdsc=(sdsc(0), sdsc(1), sdsc(2)),
        executes=("sdsc_0.json", "sdsc_1.json", "sdsc_2.json"),
    )
    return bundle(
        stacks=(line(10), line(20), called, line(40)),
        pre=pre,
        post=post,
        ir_post=(ir(0, "p0"), ir(1, "p1"), ir(2, "p2"), ir(3, "p0", kernel="aten.x")),
        kernels=(kernel(spec(0), spec(1, handle=handle("p1", "buf1")), spec(2)),),
        run=run_facts("b", files),
    )


def ask(question: str, value=None) -> Answer:
    """Return the answer to a question."""
    return answer(Attributor(value or model()), question)


@pytest.mark.parametrize(
    ("question", "subject", "paths"),
    [
        (KERNEL, Subject.KERNEL, "0 1 2"),
        (f"launch_jobplan:{KERNEL}", Subject.EVENT, "0 1 2"),
        (f"launch_kernel:{KERNEL}", Subject.EVENT, "0 1 2"),
        (f"{KERNEL}#3", Subject.EVENT, "0 1 2"),
        (f"{KERNEL}:1", Subject.OP, "1"),
        ("model.py:10", Subject.LINE, "0"),
        ("/models/model.py:20", Subject.LINE, "1"),
        ("./models/model.py:20", Subject.LINE, "1"),
        ("inner/parts.py:7", Subject.LINE, "2"),
        ("model.py:30", Subject.CALLER, "2"),
        ("layers.1", Subject.MODULE, "0 1"),
        ("layers", Subject.MODULE, "0 1 2"),
        ("layers.1.fc", Subject.MODULE, "1"),
        ("model.py", Subject.FILE, "0 1"),
        ("parts.py", Subject.FILE, "2"),
        ("/cache/kernel_0", Subject.SDSC, "0 1 2"),
        ("/cache/kernel_0/", Subject.SDSC, "0 1 2"),
        ("kernel_0/sdsc_2.json", Subject.SDSC, "2"),
        (str(handle("p1", "buf1").id), Subject.HANDLE, "1"),
    ],
)
def test_a_name_finds_its_ops(question: str, subject: Subject, paths: str):
    """Each form of question leads to the ops that it means, and to no others."""
    found = ask(question)

    assert (found.subject, found.name) == (subject, question)
    assert " ".join(op.op.spec_path for op in found.ops) == paths


def test_part_of_a_file_name_is_no_match():
    """`el.py` is not `model.py`: only whole parts of a path count."""
    with pytest.raises(NotFoundError):
        ask("el.py:10")


def test_a_line_has_its_nodes_and_host_operations():
    """What a line became beside device ops is in the answer, too."""
    found = ask("model.py:10")

    assert found.nodes == ("n0",)
    assert [(op.name, op.kernel) for op in found.host_ops] == [("op3", "aten.x")]


def test_a_line_without_ops_has_its_nodes():
    """A line that was traced and left no op is found, and says what was traced."""
    found = ask("model.py:40")

    assert (found.ops, found.nodes) == ((), ("n3",))


def test_a_line_that_nothing_came_from_names_its_neighbours():
    """The nearest lines of that file come first."""
    with pytest.raises(NotFoundError) as caught:
        ask("model.py:19")

    assert caught.value.near == ("model.py:20", "model.py:10", "model.py:40")
    assert str(caught.value) == (
        "the bundle has no 'model.py:19'; near: model.py:20, model.py:10, model.py:40 "
        "[not-found]"
    )


@pytest.mark.parametrize(
    ("question", "near"),
    [
        ("layers.1.fcc", "layers.1.fc"),
        ("sdsc_fused_1", KERNEL),
        ("modle.py", "model.py"),
        ("modle.py:10", "model.py"),
    ],
)
def test_a_misspelt_name_names_the_right_one(question: str, near: str):
    """The best match comes first."""
    with pytest.raises(NotFoundError) as caught:
        ask(question)

    assert caught.value.near[0] == near


@pytest.mark.parametrize("question", ["", ":", "/", "0", "x" * 5000, "\udcff:1"])
def test_what_is_nowhere_is_not_found(question: str):
    """Nothing is guessed, and nothing breaks."""
    with pytest.raises(NotFoundError):
        ask(question)


def test_a_module_whose_path_is_a_number_is_no_handle():
    """The parts of an `nn.Sequential` are called 0, 1 and so on."""
    value = model()
    first, *rest = value.fx_post_grad.nodes
    first = evolve(first, modules=(ModuleCall(path="0", type="Linear"),))
    graph = evolve(value.fx_post_grad, nodes=(first, *rest))

    assert ask("0", evolve(value, fx_post_grad=graph)).subject is Subject.MODULE


def test_the_recorded_model_answers():
    """In a real bundle, each line of the MLP has its ops."""
    value = recorded("simple_mlp_torch2.13")
    ops = {n: [op.op.op for op in ask(f"models.py:{n}", value).ops] for n in (17, 18)}

    assert ops == {17: ["batchmatmul", "add"], 18: ["relufwd"]}


@pytest.mark.parametrize("name", [KEY, f"spyre_kernel_v1_fused_add_relu_{KEY}#12"])
def test_a_key_names_the_kernels_that_have_it(name):
    """Where keys are known; without them there is nothing of that name."""
    value = Attributor(model())
    found = answer(value, name, {KERNEL: KEY, "other": "b" * 16})

    assert (found.subject, len(found.ops)) == (Subject.EVENT, 3)
    with pytest.raises(NotFoundError):
        answer(value, name)
