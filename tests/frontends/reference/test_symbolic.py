"""Sizes that are not known when compiling: on the device where they can be."""

from __future__ import annotations

import copy
import json

import pytest
import sympy
import torch
from eager_comparison import TOLERANCE, on_device
from torch import nn
from torch.nn import functional

import torch_spyre_provenance
from torch_spyre_provenance.frontends import reference
from torch_spyre_provenance.frontends.contract import DEVICE
from torch_spyre_provenance.frontends.host import layout
from torch_spyre_provenance.frontends.reference import config, op_spec
from torch_spyre_provenance.frontends.reference.bundle import kernel_bundle, render_mlir
from torch_spyre_provenance.frontends.reference.symbolic import symbolic_dim

MOST = 256
"""The largest size that is declared."""

SIZES = (4, 7, 200, 2)

ROWS = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 40))
TABLE = torch.linspace(-1, 1, 64 * 64).reshape(64, 64)


def by_hand(x):
    """Return rows of mean zero and variance one."""
    centred = x - x.mean(-1, keepdim=True)
    return centred * torch.rsqrt((centred * centred).mean(-1, keepdim=True) + 1e-3)


def attention(x):
    """Return what three heads that share a projection attend to."""
    batch, n, _ = x.shape
    heads = x.view(batch, n, 2, 32).transpose(1, 2)
    mixed = functional.scaled_dot_product_attention(heads, heads * 2, heads + 1)
    return mixed.transpose(1, 2).reshape(batch, n, 64)


def neighbour(x):
    """Return a chain that a chain of known size is added to."""
    row = torch.relu(TABLE[0].to(x.device, x.dtype) * 3 - 1)
    return torch.sigmoid(x) + row


DEVICE_PROGRAMS = {
    "pointwise": (lambda x: torch.relu(x * 2 + 1) - torch.sigmoid(x), (64,)),
    "part of a stick": (lambda x: torch.relu(x * 2 + 1), (3, 10)),
    "layers": (ROWS, (64,)),
    "layers of a batch": (ROWS, (5, 64)),
    "normalization": (by_hand, (100,)),
    "layer norm": (lambda x: functional.layer_norm(x, (64,)), (8, 64)),
    "rms norm": (lambda x: functional.rms_norm(x, (64,)), (64,)),
    "softmax": (lambda x: torch.softmax(x, -1), (64,)),
    "softmax across sticks": (lambda x: torch.softmax(x, 1), (8, 64)),
    "batched product": (lambda x: x @ x.transpose(1, 2) / 8, (40, 64)),
    "attention": (attention, (16, 64)),
    "one sequence": (lambda x: torch.relu(x.unsqueeze(0)).softmax(-1), (64,)),
    "neighbour": (neighbour, (64,)),
    "transposed": (lambda x: x.t() + 1, (64,)),
    "columns": (lambda x: x[:, 3:40] * 2, (64,)),
    "halves": (lambda x: torch.cat([x, -x], -1), (64,)),
    "finer rows": (lambda x: torch.relu(x.view(-1, 8)), (64,)),
    "expanded": (lambda x: x + TABLE[0].to(x.device, x.dtype).expand_as(x), (64,)),
    "a number for each row": (lambda x: x.amax(-1), (64,)),
    "in place": (lambda x: x.mul_(2), (64,)),
}
"""Functions of one tensor, and its shape but for the first size."""

HOST_PROGRAMS = {
    "sticks along the size": (lambda x: x * 2, ()),
    "stride of the size": (lambda x: torch.relu(x @ x.t()), (64,)),
    "sum over the size": (lambda x: x.sum(0), (64,)),
    "product over the size": (lambda x: x.t() @ x / 64, (64,)),
    "the size itself": (lambda x: x * x.shape[0], (64,)),
    "a size of two": (lambda x: torch.cat([x, x], 0), (64,)),
    "one long row": (lambda x: x.reshape(-1) * 2, (64,)),
    "a stride of one element": (
        lambda x: torch.relu(x.unsqueeze(1).permute([1, 2, 3, 0])),
        (64, 1),
    ),
    "not a polynomial": (lambda x: x[: x.shape[0] // 2] * 2, (64,)),
    "product of elements": (lambda x: x.prod(-1), (64,)),
    "largest elements": (lambda x: x.topk(2, -1)[0], (64,)),
    "moments": (lambda x: x.var(0), (64,)),
}


def assert_equals_eager_at(sizes, function, rest, dtype, mark):
    """Compile a function of a tensor once, and compare it with eager at some sizes."""
    is_model = isinstance(function, nn.Module)
    eager = copy.deepcopy(function).to(dtype) if is_model else function
    placed = copy.deepcopy(eager).to(DEVICE) if is_model else function
    compiled = torch.compile(placed)
    tolerance = TOLERANCE[dtype]
    for size in sizes:
        x = torch.randn(size, *rest, dtype=dtype)
        device_x = on_device(x.clone())
        mark(device_x)
        with torch.no_grad():
            expected, actual = eager(x), compiled(device_x)
        torch.testing.assert_close(
            actual.cpu(), expected, rtol=tolerance, atol=tolerance
        )


def bounded(x):
    """Declare the first size symbolic, and how large it can be."""
    torch._dynamo.mark_dynamic(x, 0, min=2, max=MOST)


def unbounded(x):
    """Declare the first size symbolic."""
    torch._dynamo.mark_dynamic(x, 0)


def unmarked(x):
    """Declare nothing: the second size that is seen makes it symbolic."""


def is_symbolic(spec):
    """Return whether one of an op's extents is."""
    return any(extent.free_symbols for extent, _ in spec.iteration_space.values())


@pytest.mark.parametrize("dtype", [torch.float16, torch.float32])
@pytest.mark.parametrize("name", DEVICE_PROGRAMS)
def test_on_the_device(compiled, name, dtype):
    """One compile serves every size, and all that it makes are ops of the device."""
    torch._dynamo.utils.counters.clear()
    assert_equals_eager_at(SIZES, *DEVICE_PROGRAMS[name], dtype, bounded)
    assert 1 == torch._dynamo.utils.counters["stats"]["unique_graphs"]
    symbolic = [spec for spec in compiled.specs if is_symbolic(spec)]
    assert symbolic
    for spec in symbolic:
        (dynamic, *_) = (n for n in spec.iteration_space.values() if n[0].free_symbols)
        extent, cores = dynamic
        (symbol,) = extent.free_symbols
        most = int(extent.subs({symbol: MOST}))
        assert (1, {str(extent): (most, 1)}) == (cores, spec.symbolic_dim_bounds)


@pytest.mark.parametrize("name", ["layers of a batch", "attention", "finer rows"])
@pytest.mark.parametrize("mark", [unbounded, unmarked])
def test_without_a_bound(compiled, name, mark):
    """The files are made for the size that was seen; the result is right for all."""
    sizes = (3, 200, 9)
    assert_equals_eager_at(sizes, *DEVICE_PROGRAMS[name], torch.float32, mark)
    seen = {most for s in compiled.specs for most, _ in s.symbolic_dim_bounds.values()}
    assert seen
    assert all(most % (200 if mark is unmarked else 3) == 0 for most in seen)


def test_no_tiles(compiled):
    """However far an op of a symbolic size reaches, it is not put into a loop."""
    with config.patch(max_span_bytes=1024):
        assert_equals_eager_at(
            SIZES, *DEVICE_PROGRAMS["layers"], torch.float16, bounded
        )
    assert not any(spec.tiled_symbols for spec in compiled.specs)
    assert compiled.specs


@pytest.mark.parametrize("name", HOST_PROGRAMS)
def test_on_the_host(compiled, name):
    """What the device cannot do at every size is an eager operator, as it was."""
    function, rest = HOST_PROGRAMS[name]
    assert_equals_eager_at(SIZES[:3], function, rest, torch.float32, unmarked)
    assert not [spec for spec in compiled.specs if is_symbolic(spec)]


def test_all_sizes_dynamic(compiled):
    """Weights fix the columns, so of two dynamic sizes only the rows stay symbolic."""
    model = copy.deepcopy(ROWS).to(DEVICE)
    function = torch.compile(model, dynamic=True)
    with torch.no_grad():
        for rows in (8, 16, 3):
            x = torch.randn(rows, 64)
            torch.testing.assert_close(function(x.to(DEVICE)).cpu(), ROWS(x))
    assert [["batchmatmul", "add", "relufwd", "batchmatmul", "add"]] == compiled.ops
    assert all(map(is_symbolic, compiled.specs))


def test_two_unknown_sizes_go_to_the_host(compiled):
    """The step from one row to the next would be a size."""
    function = torch.compile(lambda x: torch.relu(x * 2), dynamic=True)
    with torch.no_grad():
        for shape in ((8, 64), (3, 5), (16, 100)):
            x = torch.randn(shape)
            torch.testing.assert_close(function(x.to(DEVICE)).cpu(), torch.relu(x * 2))
    assert [] == compiled.kernels


def test_a_part_of_a_table_goes_to_the_host(compiled):
    """Its rows are as many as another tensor has, but the table may have fewer."""

    def add_rows(x, table):
        return x + table[: x.shape[0]] * 2

    function = torch.compile(add_rows)
    with torch.no_grad():
        for rows in (4, 9, 60):
            x = torch.randn(rows, 64)
            torch.testing.assert_close(
                function(x.to(DEVICE), TABLE.to(DEVICE)).cpu(), add_rows(x, TABLE)
            )
    *_, last = compiled.specs
    assert ("add", True) == (last.op, is_symbolic(last))


def test_a_part_that_grows_past_a_row(compiled):
    """Where one row is as far as a loop gets when compiling, it can get further."""

    def first_pieces(x):
        return torch.relu(x.view(-1, 8)[: x.shape[0]])

    assert_equals_eager_at((4, 6, 100), first_pieces, (64,), torch.float32, unmarked)
    assert any(map(is_symbolic, compiled.specs))


def test_a_recompile_for_a_new_shape(compiled):
    """Where nothing is dynamic, each shape has kernels of its own."""
    function = torch.compile(torch.relu, dynamic=False)
    for rows in (4, 8):
        x = torch.randn(rows, 64)
        torch.testing.assert_close(function(x.to(DEVICE)).cpu(), torch.relu(x))
    extents = [spec.iteration_space.values() for spec in compiled.specs]
    assert [[4, 64], [8, 64]] == [[int(n) for n, _ in space] for space in extents]


def test_a_training_step(compiled):
    """The backward graph too has symbolic ops, and gives eager's gradients."""
    model = copy.deepcopy(ROWS)
    on_spyre = copy.deepcopy(ROWS).to(DEVICE)
    function = torch.compile(on_spyre)
    for rows in SIZES:
        x = torch.randn(rows, 64)
        device_x = on_device(x)
        bounded(device_x)
        model.zero_grad()
        on_spyre.zero_grad()
        model(x).square().sum().backward()
        function(device_x).square().sum().backward()
        for want, got in zip(model.parameters(), on_spyre.parameters(), strict=True):
            torch.testing.assert_close(got.grad.cpu(), want.grad, rtol=1e-3, atol=1e-3)
    assert 2 < len(compiled.kernels)


def test_the_files_name_the_size(compiled):
    """Sizes are numbered before addresses, and every file says which it leaves open."""
    assert_equals_eager_at(SIZES, *DEVICE_PROGRAMS["layers"], torch.float16, bounded)
    (source,) = compiled.sources
    specs = eval(source, vars(op_spec) | vars(layout))  # noqa: S307 - as compiled
    (symbol,) = specs[0].symbolic_dim_bounds
    bundle = kernel_bundle(specs)
    numbers = [
        number
        for file in bundle.files
        for number in (*file.sizes.values(), *(s.symbol for s in file.starts))
    ]
    assert list(range(-1, -len(numbers) - 1, -1)) == numbers
    for file in bundle.files:
        (body,) = file.document.values()
        assert list(body)[-5:] == [
            "dscs_",
            "datadscs_",
            "dimToSymbolMappingOpcodeCorrection_",
            "inputSymbolsAndTags_",
            "symbolDefinitions_",
        ]
        number = file.sizes[symbol]
        assert {str(number): symbol} == body["inputSymbolsAndTags_"]
        ((dsc,),) = (list(part.values()) for part in body["dscs_"])
        assert {"mb": [number]} == dsc["dimToSymbolMapping_"]
        stage = dsc["dataStageParam_"]["0"]["ss_"]
        info = {"mb": {"maxSize_": MOST, "granularity_": 1}}
        assert (MOST, MOST, info) == (
            dsc["N_"]["mb_"],
            stage["mb_"],
            stage["symbolicDimInfo_"],
        )
        assert json.dumps(body)
        addresses = ", ".join(str(start.symbol) for start in file.starts)
        assert f'"symbol_ids"=[{addresses}]' in render_mlir(bundle)


def test_what_a_recording_says(tmp_path):
    """An extent is text, and each op has its line."""
    reference.register()
    torch._dynamo.reset()

    def rows(x):
        y = torch.relu(x)
        return y.softmax(-1)

    compiled = torch.compile(rows, backend="spyre_provenance")
    x = torch.ones(4, 64).to(DEVICE)
    bounded(x)
    with torch_spyre_provenance.record(out=tmp_path, strict=True) as recording:
        compiled(x)
    (done,) = recording.bundles
    (kernel,) = done.bundle.kernels
    assert ["relufwd", "max", "sub", "exp", "sum", "realdiv"] == [
        op.op for op in kernel.ops
    ]
    first = rows.__code__.co_firstlineno
    lines = [op.handle.source.start_line - first for op in kernel.ops]
    assert [1, 2, 2, 2, 2, 2] == lines
    extents = {op.iteration_space[0].extent for op in kernel.ops}
    assert [True] == [sympy.sympify(extent).is_Symbol for extent in extents]


@pytest.mark.parametrize(
    ("size", "stride", "expected"),
    [
        (("s", 64), (64, 1), 0),
        ((64, "s"), (1, 64), 1),
        (("s", 64), (0, 1), 0),
        (("s", 64), (100, 1), 0),
        (("s", 64), (32, 1), None),
        ((64, "s"), (64, 1), None),
        ((8, 64), (64, 1), None),
        (("s", "s"), (64, 1), None),
        (("s", 64), ("s", 1), None),
    ],
)
def test_the_symbolic_dimension(size, stride, expected):
    """It is the only one, the outermost in memory, and no stride depends on it."""
    from torch._subclasses.fake_tensor import FakeTensorMode
    from torch.fx.experimental.symbolic_shapes import ShapeEnv

    env = ShapeEnv()
    s = env.create_symintnode(
        env.create_symbol(7, torch._dynamo.source.ConstantSource("s")), hint=7
    )
    with FakeTensorMode(shape_env=env):
        tensor = torch.empty_strided(
            [s if n == "s" else n for n in size],
            [s if n == "s" else n for n in stride],
        )
        assert expected == symbolic_dim(tensor)
