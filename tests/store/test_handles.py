"""torch-spyre's own JSON form of a handle, of every release."""

from __future__ import annotations

import json

import pytest
from attrs import evolve
from bundle_factory import RECORDED, handle, recorded
from hypothesis import given, settings
from strategies import values_of

from torch_spyre_provenance.errors import BundleFormatError
from torch_spyre_provenance.model import (
    DebugHandle,
    ProvenanceTransform,
    SourceLoc,
    handle_id,
)
from torch_spyre_provenance.store import handle_json, limits, parse_handle

FUSED = DebugHandle(
    id=6233022986613039509,
    source=SourceLoc(file="/home/u/model.py", start_line=42),
    aten_op="aten.relu.default",
    ir_chain=("relu", "buf2"),
    fused_from=(handle("relu", start_line=42),),
    transform_history=(
        ProvenanceTransform(kind="decomposition", pass_name="split_multi_ops"),
    ),
)


def test_the_keys_and_their_order_are_torch_spyres():
    """A file that we write cannot be told from one of torch-spyre."""
    expected = {
        "id": "6233022986613039509",
        "source": {
            "file": "/home/u/model.py",
            "start_line": 42,
            "start_col": 0,
            "end_line": None,
            "end_col": None,
        },
        "aten_op": "aten.relu.default",
        "ir_chain": ["relu", "buf2"],
        "fused_from": [handle_json(FUSED.fused_from[0])],
        "transform_history": [
            {
                "kind": "decomposition",
                "pass_name": "split_multi_ops",
                "reason": None,
            }
        ],
    }
    assert json.dumps(expected) == json.dumps(handle_json(FUSED))


def test_the_older_form_has_a_text_in_place_of_the_history():
    """Releases before 24 July 2026 wrote ``fusion_context``."""
    older = evolve(FUSED, transform_history=(), fusion_context="fused by hand")
    plain = handle_json(older)
    assert list(plain)[-1] == "fusion_context"
    assert parse_handle(plain) == older


@settings(max_examples=50, deadline=None)
@given(values_of(DebugHandle))
def test_a_handle_survives_the_round_trip(value):
    """What is written is read again."""
    assert parse_handle(handle_json(value)) == value


def test_a_handle_without_any_history_is_read():
    """The first release had neither key, and an id may be a number."""
    plain = {"id": 7, "source": None, "aten_op": None, "ir_chain": ["x", "buf0"]}
    assert parse_handle(plain) == DebugHandle(
        id=7, source=None, aten_op=None, ir_chain=("x", "buf0")
    )


def test_keys_of_a_newer_torch_spyre_are_left_out():
    """A new key does not cost the rest of the handle."""
    assert parse_handle(handle_json(FUSED) | {"colour": "red"}) == FUSED


@pytest.mark.parametrize(
    "wrong",
    [
        None,
        [],
        "handle",
        {},
        handle_json(FUSED) | {"id": True},
        handle_json(FUSED) | {"id": "12x"},
        handle_json(FUSED) | {"id": -1},
        handle_json(FUSED) | {"id": 1 << 63},
        handle_json(FUSED) | {"id": "01"},
        handle_json(FUSED) | {"source": "model.py:42"},
        handle_json(FUSED) | {"source": {"file": "model.py"}},
        handle_json(FUSED) | {"source": {"file": "model.py", "start_line": -1}},
        handle_json(FUSED) | {"ir_chain": "relu"},
        handle_json(FUSED) | {"ir_chain": [1]},
        handle_json(FUSED) | {"fused_from": [None]},
        handle_json(FUSED) | {"transform_history": [{"kind": "rewrite"}]},
    ],
)
def test_what_is_no_handle_is_refused(wrong):
    """A damaged handle is an error with a defect, never a wrong line."""
    with pytest.raises(BundleFormatError) as caught:
        parse_handle(wrong)
    assert len(caught.value.defects) == 1


def test_nesting_is_bounded():
    """A handle of handles without end is refused and costs nothing."""
    plain = handle_json(FUSED)
    for _ in range(limits.MAX_HANDLE_DEPTH + 1):
        plain = plain | {"fused_from": [plain]}
    with pytest.raises(BundleFormatError, match="nested more than"):
        parse_handle(plain)


@pytest.mark.parametrize("name", RECORDED)
def test_recorded_ids_follow_the_recipe(name):
    """The id of every recorded handle is the hash of what the handle says."""
    handles = [op.handle for _, op in recorded(name).ops if op.handle is not None]
    expected = [handle_id(h.source, h.aten_op, h.ir_chain) for h in handles]
    assert expected == [h.id for h in handles]
    assert expected


def test_any_text_has_an_id():
    """A stranger's bundle may hold characters that no encoding knows."""
    names = ("plain", "caf\u00e9", "\udc80 of a path", "\ud800 of no path")
    ids = {handle_id(None, None, (name,)) for name in names}

    assert len(names) == len(ids)
