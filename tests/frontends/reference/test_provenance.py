"""The rule that makes a buffer's handle."""

from __future__ import annotations

from types import SimpleNamespace

from torch_spyre_provenance.frontends.reference.provenance import (
    HISTORY,
    build_debug_handle,
    source_of,
)
from torch_spyre_provenance.model import ProvenanceTransform, SourceLoc, handle_id


def node(name, line=None, aten=None):
    """Return an FX node with a one-frame stack trace."""
    meta = {}
    if line is not None:
        meta["stack_trace"] = f'File "/home/u/model.py", line {line}, in forward\n  x'
    if aten is not None:
        meta["original_aten"] = aten
    return SimpleNamespace(name=name, meta=meta)


def buffer(*origins, origin_node=None, name="buf2"):
    """Return a buffer with these origins."""
    return SimpleNamespace(
        origins=list(origins), origin_node=origin_node, get_name=lambda: name
    )


def at(line):
    """Return the location that `node` gives."""
    return SourceLoc(file="/home/u/model.py", start_line=line)


def test_no_origins_no_handle():
    """What came from nowhere is not said to come from somewhere."""
    assert build_debug_handle(buffer()) is None


def test_one_origin():
    """The check value of torch-spyre's recipe, and nothing fused."""
    relu = node("relu", 42, "aten.relu.default")
    handle = build_debug_handle(buffer(relu, origin_node=relu))
    assert (6233022986613039509, at(42), "aten.relu.default") == (
        handle.id,
        handle.source,
        handle.aten_op,
    )
    assert (("relu", "buf2"), ()) == (handle.ir_chain, handle.fused_from)


def test_source_less_origin_node():
    """The check value of a restickify: no source, no operator."""
    copy = node("restickify")
    handle = build_debug_handle(buffer(copy, origin_node=copy, name="buf5"))
    assert (4784378188929623909, None, None) == (
        handle.id,
        handle.source,
        handle.aten_op,
    )


def test_the_only_source_among_the_origins_serves_the_origin_node():
    """A product without a trace has its weight's line; each origin keeps its own."""
    product, weight = node("mm", aten="aten.addmm.default"), node("permute", 12, "t")
    handle = build_debug_handle(buffer(weight, product, origin_node=product))
    assert (at(12), "aten.addmm.default") == (handle.source, handle.aten_op)
    assert ("mm", "permute", "buf2") == handle.ir_chain
    parts = [(part.ir_chain, part.source, part.id) for part in handle.fused_from]
    assert [
        (("mm",), None, handle_id(None, "aten.addmm.default", ("mm",))),
        (("permute",), at(12), handle_id(at(12), "t", ("permute",))),
    ] == parts


def test_origins_that_disagree_have_no_headline():
    """Without an origin node, two lines make no line."""
    handle = build_debug_handle(buffer(node("a", 1, "x"), node("b", 2, "x")))
    assert (None, "x") == (handle.source, handle.aten_op)
    assert 2 == len(handle.fused_from)


def test_the_history_is_carried():
    """The steps that passes recorded on the buffer are in its handle."""
    step = ProvenanceTransform(kind="rewrite", pass_name="p")
    place = buffer(node("a", 1))
    setattr(place, HISTORY, (step,))
    assert (step,) == build_debug_handle(place).transform_history


def test_the_innermost_frame_outside_torch_counts():
    """Frames of torch are passed over, unless there are no others."""
    trace = 'File "/m.py", line 3, in f\nFile "/lib/torch/nn/x.py", line 9, in g'
    inner = SimpleNamespace(meta={"stack_trace": trace})
    assert SourceLoc(file="/m.py", start_line=3) == source_of(inner)
    only = SimpleNamespace(meta={"stack_trace": trace.partition("\n")[2]})
    assert SourceLoc(file="/lib/torch/nn/x.py", start_line=9) == source_of(only)
