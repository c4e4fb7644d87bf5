"""Stick layouts: torch-spyre's worked examples, text, equality and pickles."""

from __future__ import annotations

import pickle

import pytest
import torch

from torch_spyre_provenance.frontends.host.layout import (
    DataFormats,
    ElementArrangement,
    SpyreTensorLayout,
    data_format,
    elems_per_stick,
)

FP16 = torch.float16

WORKED_EXAMPLES = [
    ([120], None, [2, 64], [64, 1]),
    ([512, 256], None, [4, 512, 64], [64, 256, 1]),
    ([512, 240], None, [4, 512, 64], [64, 240, 1]),
    ([512, 256], [1, 0], [8, 256, 64], [16384, 1, 256]),
    ([512, 256], [0, 1, -1], [256, 1, 512, 64], [1, -1, 256, -1]),
    ([512, 8, 256], None, [8, 4, 512, 64], [256, 64, 2048, 1]),
    ([512, 8, 240], None, [8, 4, 512, 64], [240, 64, 1920, 1]),
    ([512, 8, 256], [0, 2, 1], [256, 1, 512, 64], [1, 16384, 2048, 256]),
    ([512, 8, 256], [1, 0, 2], [512, 4, 8, 64], [2048, 64, 256, 1]),
    ([512, 8, 256], [1, 2, 0], [256, 8, 8, 64], [1, 131072, 256, 2048]),
    ([512, 8, 256], [2, 0, 1], [512, 1, 256, 64], [2048, 16384, 1, 256]),
    ([512, 8, 256], [2, 1, 0], [8, 8, 256, 64], [256, 131072, 1, 2048]),
    ([5, 100, 150], None, [100, 3, 5, 64], [150, 64, 15000, 1]),
    ([5, 100, 150], [1, 0, 2], [5, 3, 100, 64], [15000, 64, 150, 1]),
    ([2, 128], None, [2, 2, 64], [64, 128, 1]),
    ([256], None, [4, 64], [64, 1]),
    ([256, 128], [1, 0], [4, 128, 64], [8192, 1, 128]),
    ([128, 256], [1, 0], [2, 256, 64], [16384, 1, 256]),
    ([], None, [1, 64], [-1, -1]),
    ([1, 70], None, [2, 1, 64], [64, -1, 1]),
    ([2, 3, 4, 70], None, [3, 4, 2, 2, 64], [280, 70, 64, 840, 1]),
    ([2, 2, 2, 2, 2, 64], None, [2, 2, 2, 2, 1, 2, 64], None),
]


def row_major(size):
    """The strides of a row-major tensor."""
    return torch.empty(size, device="meta").stride()


@pytest.mark.parametrize(
    ("host_size", "dim_order", "device_size", "stride_map"), WORKED_EXAMPLES
)
def test_construction(host_size, dim_order, device_size, stride_map):
    """Shape, strides and dimension order give torch-spyre's sizes and strides."""
    if dim_order is None:
        layout = SpyreTensorLayout(host_size, FP16)
    else:
        layout = SpyreTensorLayout(host_size, row_major(host_size), FP16, dim_order)
    assert device_size == layout.device_size
    if stride_map is not None:
        assert stride_map == layout.stride_map


@pytest.mark.parametrize("rank", range(7))
def test_every_element_has_a_place_of_its_own(rank):
    """The strides reach each host element exactly once, at every rank."""
    size = [3, 2, 1, 2, 2, 5][:rank]
    layout = SpyreTensorLayout(size, torch.float32)
    offsets = {0}
    extents = [
        1 if step == -1 else extent
        for extent, step in zip(layout.device_size, layout.stride_map, strict=True)
    ]
    # The padding of the last stick lies outside the host tensor.
    if rank and size[-1] != 1:
        extents[-1] = size[-1]
    for extent, step in zip(extents, layout.stride_map, strict=True):
        offsets = {offset + i * step for offset in offsets for i in range(extent)}
    n_elements = torch.empty(size, device="meta").numel()
    assert set(range(n_elements)) == offsets


def test_sparse_rank_six():
    """A trailing -1 may follow all six dimensions."""
    order = [0, 1, 2, 3, 4, 5, -1]
    layout = SpyreTensorLayout([2] * 6, row_major([2] * 6), FP16, order)
    assert [2, 2, 2, 2, 2, 1, 2, 64] == layout.device_size
    assert [16, 8, 4, 2, 1, -1, 32, -1] == layout.stride_map


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([1] * 7, FP16), "at most 6 host dimensions"),
        (([4, 4], [4, 1], FP16, [0]), "do not fit a tensor of shape"),
        (([4, 4], [4, 1], FP16, [0, 0]), "do not fit a tensor of shape"),
        (([4, 4], [1], FP16, [0, 1]), "do not fit a tensor of shape"),
        (([4], torch.float64), "no device format holds the dtype"),
        (([4, 64], [1], DataFormats.SEN169_FP16), "differ in length"),
    ],
)
def test_impossible_layouts_are_refused(arguments, message):
    """What describes no layout raises, and says why."""
    with pytest.raises(ValueError, match=message):
        SpyreTensorLayout(*arguments)


LAYOUTS = [
    SpyreTensorLayout([512, 256], FP16),
    SpyreTensorLayout([4, 512, 64], [64, 256, 1], DataFormats.SEN169_FP16),
    SpyreTensorLayout(
        device_size=[4, 512, 64],
        stride_map=[64, 256, 1],
        device_dtype=DataFormats.SEN169_FP16,
    ),
    SpyreTensorLayout(
        host_size=[512, 256], host_strides=[256, 1], dtype=FP16, dim_order=[0, 1]
    ),
]


@pytest.mark.parametrize("layout", LAYOUTS)
def test_equal_however_it_was_made(layout):
    """All constructors make equal, equally hashed layouts."""
    assert LAYOUTS[0] == layout
    assert hash(LAYOUTS[0]) == hash(layout)


@pytest.mark.parametrize(
    "other",
    [
        SpyreTensorLayout([512, 255], FP16),
        SpyreTensorLayout([512, 256], torch.bfloat16).with_element_arrangement(
            ElementArrangement.EXX2
        ),
        SpyreTensorLayout([4, 512, 64], [64, 256, 1], DataFormats.IEEE_FP16),
        "SpyreTensorLayout",
    ],
)
def test_any_difference_counts(other):
    """Size, strides, format and arrangement all take part in equality."""
    assert LAYOUTS[0] != other


def test_text_is_torch_spyres():
    """The text is that of torch-spyre, its odd space included."""
    expected = (
        "SpyreTensorLayout(device_size=[4, 512, 64], stride_map =[64, 256, 1], "
        "device_dtype=DataFormats.SEN169_FP16)"
    )
    assert expected == repr(LAYOUTS[0])


def test_text_names_an_uncommon_arrangement():
    """An arrangement other than the standard one appears in the text."""
    layout = LAYOUTS[0].with_element_arrangement(ElementArrangement.QFP8CH)
    assert repr(layout).endswith(
        "DataFormats.SEN169_FP16, element_arrangement=ElementArrangement.QFP8CH)"
    )


@pytest.mark.parametrize("arrangement", ElementArrangement)
def test_text_evaluates_to_the_layout(arrangement):
    """The text, pasted into generated code, makes the layout again."""
    layout = LAYOUTS[0].with_element_arrangement(arrangement)
    names = {
        "SpyreTensorLayout": SpyreTensorLayout,
        "DataFormats": DataFormats,
        "ElementArrangement": ElementArrangement,
    }
    assert layout == eval(repr(layout), names)  # noqa: S307 - our own text


def test_pickle_round_trip():
    """A pickled layout comes back equal."""
    layout = LAYOUTS[0].with_element_arrangement(ElementArrangement.EXX2)
    assert layout == pickle.loads(pickle.dumps(layout))  # noqa: S301 - our own bytes


@pytest.mark.parametrize(
    "state",
    [
        (1, [4, 512, 64], [1, 0, 1], [64, 256, 1], DataFormats.SEN169_FP16),
        (2, [4, 512, 64], [64, 256, 1], DataFormats.SEN169_FP16),
        (3, [4, 512, 64], [64, 256, 1], 0, 0),
    ],
)
def test_older_pickles_load(state):
    """The states of earlier versions are understood."""
    layout = SpyreTensorLayout.__new__(SpyreTensorLayout)
    layout.__setstate__(state)
    assert LAYOUTS[0] == layout


def test_unknown_pickle_is_refused():
    """A state of an unknown version raises instead of being guessed at."""
    layout = SpyreTensorLayout.__new__(SpyreTensorLayout)
    with pytest.raises(ValueError, match="unknown version 4"):
        layout.__setstate__((4,))


def test_layouts_cannot_be_changed_through_their_lists():
    """The lists that the properties return are copies."""
    layout = SpyreTensorLayout([512, 256], FP16)
    layout.device_size.append(1)
    layout.stride_map.append(1)
    assert LAYOUTS[0] == layout


@pytest.mark.parametrize(
    ("dtype", "expected_format", "n_elements"),
    [
        (torch.float16, DataFormats.SEN169_FP16, 64),
        (torch.bfloat16, DataFormats.SEN169_FP16, 64),
        (torch.bool, DataFormats.SEN169_FP16, 64),
        (torch.float32, DataFormats.IEEE_FP32, 32),
        (torch.int32, DataFormats.IEEE_INT32, 32),
        (torch.int64, DataFormats.IEEE_INT32, 32),
        (torch.int8, DataFormats.SENINT8, 128),
        (torch.uint8, DataFormats.SENUINT32, 32),
        (torch.int16, DataFormats.SENINT16, 64),
        (torch.float8_e4m3fn, DataFormats.SEN143_FP8, 128),
        (torch.float8_e5m2fnuz, DataFormats.SEN152_FP8, 128),
    ],
)
def test_formats_of_dtypes(dtype, expected_format, n_elements):
    """Each dtype has torch-spyre's format and number of elements per stick."""
    assert expected_format == data_format(dtype)
    assert n_elements == elems_per_stick(dtype)


@pytest.mark.parametrize("dtype", [torch.float64, torch.complex64, torch.int1])
def test_dtypes_without_a_format(dtype):
    """A dtype that the device lacks has the format INVALID, and no size."""
    assert DataFormats.INVALID == data_format(dtype)
    with pytest.raises(ValueError, match="no device format"):
        elems_per_stick(dtype)


@pytest.mark.parametrize("member", [*DataFormats, *ElementArrangement])
def test_members_print_as_their_names(member):
    """A member prints, and formats, as the expression that names it."""
    expected = f"{type(member).__name__}.{member.name}"
    assert (expected, expected, expected) == (repr(member), str(member), f"{member}")
