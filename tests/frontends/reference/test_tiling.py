"""Counted loops: which ops get one, and that tile by tile they equal eager."""

from __future__ import annotations

import pytest
import torch
from eager_comparison import assert_equals_eager, on_device
from torch.nn import functional

from torch_spyre_provenance.frontends.reference import config, passes
from torch_spyre_provenance.frontends.reference.op_spec import LoopSpec

STICK = {torch.float16: 64, torch.float32: 32}
KIB = 1024
F16 = torch.float16
both = pytest.mark.parametrize("dtype", STICK)


@pytest.fixture(autouse=True)
def narrow():
    """Let an operand of each of two cores extend over 8 KiB: 64 sticks."""
    with config.patch(max_span_bytes=8 * KIB, sencores=2):
        yield


def random(dtype, *rows, sticks):
    """Return random numbers; the last dimension has so many sticks."""
    generator = torch.Generator().manual_seed(0)
    return torch.randn(*rows, sticks * STICK[dtype], generator=generator).to(dtype)


def shape(specs):
    """Describe a tree of specs: an op by its name, a loop by its trips and body."""
    return [
        (int(spec.count), *shape(spec.body)) if isinstance(spec, LoopSpec) else spec.op
        for spec in specs
    ]


def shapes(compiled):
    """Describe the tree of each kernel."""
    return [shape(specs) for _, specs in compiled.kernels]


@both
def test_columns_of_a_matrix(compiled, dtype):
    """The sticks of a row lie far apart, so columns are what is tiled."""
    assert_equals_eager(torch.relu, random(dtype, 64, sticks=4))
    assert [[(4, "relufwd")]] == shapes(compiled)
    (spec,) = compiled.specs
    assert {"c0": (64, 2), "c1": (STICK[dtype], 1)} == {
        str(symbol): (int(extent), cores)
        for symbol, (extent, cores) in spec.iteration_space.items()
    }
    assert "[[c1]]" == str(spec.tiled_symbols)


@both
def test_rows_of_one_stick(compiled, dtype):
    """A narrow matrix is tiled by rows; what one trip reads is all of its sum."""
    assert_equals_eager(lambda x: x.sum(0), random(dtype, 64, sticks=4))
    assert [[(2, "sum")]] == shapes(compiled)


def test_reduction_along_the_stick(compiled):
    """Rows are tiled, and summed whole."""
    assert_equals_eager(lambda x: x.sum(1), random(F16, 512, sticks=1))
    assert [[(4, "sum")]] == shapes(compiled)


@both
def test_a_product(compiled, dtype):
    """The columns of the second matrix move, and the first one stays."""
    stick = STICK[dtype]
    x, w = random(dtype, 64, sticks=1), random(dtype, stick, sticks=8)
    assert_equals_eager(torch.mm, x, w)
    (tree,) = shapes(compiled)
    assert [(8, "batchmatmul")] == tree
    (spec,) = compiled.specs
    assert [True, False, False] == [arg.per_tile_fixed for arg in spec.args]


@both
def test_a_chain_shares_a_loop(compiled, dtype):
    """Each trip computes a tile of every op, the number among them."""
    x, y = random(dtype, 64, sticks=4), random(dtype, 64, sticks=4)
    assert_equals_eager(lambda a, b: torch.relu(a + b) * b + 1, x, y)
    assert [[(4, "add", "relufwd", "mul", "add")]] == shapes(compiled)
    fixed = [arg.per_tile_fixed for spec in compiled.specs for arg in spec.args]
    assert 1 == sum(fixed)


def test_softmax(compiled):
    """A reduction shares a loop with its readers, which need the same rows."""
    assert_equals_eager(lambda x: torch.softmax(x, -1), random(F16, 512, sticks=1))
    assert [[(4, "max", "sub", "exp", "sum", "realdiv")]] == shapes(compiled)


@both
def test_neighbours_that_fit(compiled, dtype):
    """An op before and one after stay outside, in one kernel with the loop."""
    wide, bias = random(dtype, 64, sticks=4), random(dtype, sticks=4)
    assert_equals_eager(
        lambda x, b: (torch.relu(x) + torch.exp(b)).sum(0) * b, wide, bias
    )
    assert [["relufwd", "exp"]] != shapes(compiled)
    (tree,) = shapes(compiled)
    assert [(4, "relufwd"), "exp", (4, "add"), (2, "sum"), "mul"] == tree


def test_loops_in_loops(compiled):
    """Where no one loop is enough, another runs inside it."""
    x = random(torch.float32, 8, 64, sticks=2)
    with config.patch(max_span_bytes=512):
        assert_equals_eager(lambda a: torch.relu(torch.exp(a)), x)
    assert [[(64, (2, "exp", "relufwd"))]] == shapes(compiled)
    assert ["[[c2], [c1]]"] * 2 == [str(spec.tiled_symbols) for spec in compiled.specs]


def test_a_reader_of_other_tiles_has_a_loop_of_its_own(compiled):
    """The last row is there only after the last trip."""

    def less_last(x):
        y = torch.exp(x)
        return y - y[-1:]

    assert_equals_eager(less_last, random(F16, 512, sticks=1))
    assert [[(4, "exp"), (4, "sub")]] == shapes(compiled)


def test_a_reader_of_tiles_along_another_dimension(compiled):
    """Both are tiled by columns, which are rows to the second."""
    x = random(F16, 256, sticks=4)
    assert_equals_eager(lambda a, b: torch.relu(a).t() + b, x, x)
    assert [
        [(2, (4, "relufwd")), (4, (2, "ReStickifyOpHBM", "add"))],
    ] == shapes(compiled)


@pytest.mark.parametrize(
    ("function", "inputs"),
    [
        (torch.relu, [torch.ones(64, 300, dtype=F16)]),
        (lambda x: x.sum(1), [random(F16, 64, sticks=4)]),
        (lambda x: x.sum((0, 1)), [random(F16, 64, sticks=4)]),
        (torch.bmm, [random(F16, 8, 64, sticks=1), random(F16, 8, 64, sticks=1)]),
    ],
    ids=["a broken stick", "reduced columns", "a total", "summed rows"],
)
def test_what_no_output_loop_makes_smaller_stays_whole(compiled, function, inputs):
    """The result is right, and the op is as it would be without a limit."""
    assert_equals_eager(function, *inputs)
    assert not any(
        isinstance(each, tuple) for tree in shapes(compiled) for each in tree
    )


def test_the_largest_elements(compiled):
    """They are found in one go, and only what is computed around them is tiled."""
    assert_equals_eager(
        lambda x: torch.topk(torch.exp(x), 2, 0).values, random(F16, 64, sticks=4)
    )
    assert [[(4, "exp"), "topkvalue"]] == shapes(compiled)


def test_an_update_in_place(compiled):
    """The copy back to the input is tiled, in a loop that nobody shares."""

    def update(x):
        x.add_(1)
        return torch.exp(x)

    x = random(F16, 512, sticks=1)
    given = on_device(x.clone())
    with torch.no_grad():
        actual = torch.compile(update)(given)
    expected = update(x)
    torch.testing.assert_close(actual.cpu(), expected, rtol=2e-2, atol=2e-2)
    assert torch.equal(x, given.cpu())


def test_parts_of_one_buffer(compiled):
    """Both parts of a joined matrix move through the same memory, each from its row."""
    x, y = random(F16, 512, sticks=1), random(F16, 256, sticks=1)
    assert_equals_eager(lambda a, b: torch.relu(torch.cat([a, b])), x, y)
    expected = [(4, "relufwd"), (2, "relufwd"), (4, "identity"), (2, "identity")]
    assert [expected] == shapes(compiled)


def test_a_library_call_cuts_the_loop(compiled):
    """Two kernels, a loop in each."""
    assert_equals_eager(
        lambda x: torch.relu(torch.sin(torch.exp(x))), random(F16, 512, sticks=1)
    )
    assert [[(4, "exp")], [(4, "relufwd")]] == shapes(compiled)


def test_layer_norm(compiled):
    """The two numbers of each row are written and read tile by tile."""
    assert_equals_eager(
        lambda x: functional.layer_norm(x, x.shape[-1:]), random(F16, 8, 64, sticks=1)
    )
    assert [[(4, "exx2", "layernormscale", "layernormnorm")]] == shapes(compiled)


def test_the_text_of_a_loop(compiled):
    """The generated module holds it in torch-spyre's order of arguments."""
    assert_equals_eager(torch.mm, random(F16, 64, sticks=1), random(F16, 64, sticks=8))
    (source,) = compiled.sources
    parts = [
        "LoopSpec(count=sympify('8'), body=[",
        "OpSpec(",
        "op_info=",
        "tiled_symbols=[[sympify('c1')]],",
        "symbolic_dim_bounds=",
        "debug_handle=",
        "stride_map=",
        "per_tile_fixed=True,",
    ]
    places = [source.index(part) for part in parts]
    assert sorted(places) == places


def test_the_provenance_stays(compiled):
    """The pass leaves the buffers, their origins and origin nodes as they were."""
    seen = []

    def observe(name, graph, *, after):
        if name == "coarse_tile":
            seen.append(
                [
                    (op.get_name(), op.origins, list(op.origins), op.origin_node)
                    for op in graph.operations
                ]
            )

    passes.OBSERVERS.append(observe)
    try:
        assert_equals_eager(lambda x: torch.relu(x) * 2, random(F16, 64, sticks=4))
    finally:
        passes.OBSERVERS.remove(observe)
    before, after = seen
    assert before == after
    assert all(a[1] is b[1] for a, b in zip(before, after, strict=True))
    assert [[(4, "relufwd", "mul")]] == shapes(compiled)


def test_ordinary_sizes_have_no_loops(compiled):
    """The limit is what a core can address: only far larger operands exceed it."""
    with config.patch(max_span_bytes=65535 * 4096, sencores=32):
        assert_equals_eager(torch.relu, random(F16, 4096, sticks=16))
    assert [["relufwd"]] == shapes(compiled)
