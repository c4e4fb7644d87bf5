"""The record beside each kernel."""

from __future__ import annotations

import json
from pathlib import Path

from attrs import evolve
from bundle_factory import (
    KERNEL,
    bundle,
    fx,
    ir,
    kernel,
    line,
    recorded,
    run_facts,
    spec,
)

from torch_spyre_provenance.analysis.attribution import Attributor
from torch_spyre_provenance.model import KernelFiles, SourceFile, SourceLine
from torch_spyre_provenance.report.kernel import render

RELU = "aten.relu.default"


def record(value, directory="/cache/inductor-spyre/provenance/b") -> dict:
    """Return the record of a bundle's first kernel."""
    (files, *_) = value.run.files
    return json.loads(render(Attributor(value), files, Path(directory)))


def test_the_record_of_the_recorded_model():
    """Each op with its line, evidence, module, handle and file."""
    found = record(recorded("simple_mlp_torch2.13"))
    assert found["kernel"] == "sdsc_fused_addmm_linear_relu_0"
    assert found["bundle"] == {
        "relative": "../provenance/b",
        "absolute": "/cache/inductor-spyre/provenance/b",
    }
    rows = [
        (op["op"], op["locations"][0]["line"], op["evidence"], op["module"])
        for op in found["ops"]
    ]
    assert rows == [
        ("batchmatmul", 17, "measured", "fc1"),
        ("add", 17, "measured", "fc1"),
        ("relufwd", 18, "measured", ""),
        ("batchmatmul", 19, "measured", "fc2"),
        ("add", 19, "measured", "fc2"),
    ]
    assert [op["sdsc_file"] for op in found["ops"]] == [
        f"sdsc_{n}.json" for n in range(5)
    ]
    first = found["ops"][0]
    assert first["handle_id"].isdecimal()
    assert first["rule"] == "replaced"
    assert first["locations"][0]["text"] == "x = self.fc1(x)"
    assert first["locations"][0]["stack"][-1]["file"] == "/models/models.py"


def test_an_op_without_a_line_says_why():
    """No location, no guess, and the reason."""
    files = KernelFiles(kernel=KERNEL, directory="/k", sdsc=())
    found = record(bundle(kernels=(kernel(spec(0)),), run=run_facts("b", files)))
    (op,) = found["ops"]
    assert (op["locations"], op["evidence"]) == ([], "missing")
    assert op["reason"] == "no operation is known to be behind it"
    assert (op["sdsc_file"], op["sdsc_handle"]) == (None, "unknown")


def test_the_recorded_source_stands_in_for_a_trace_without_text():
    """A trace that quotes nothing is completed from the snapshot."""
    files = KernelFiles(kernel=KERNEL, directory="/k", sdsc=())
    snapshot = SourceFile(
        path="/m.py", sha256="0" * 64, lines=(SourceLine(number=3, text="  x = f(x)"),)
    )
    value = bundle(
        stacks=(line(3, "", file="/m.py"), line(3, "    ^^^^", file="/m.py")),
        post=(fx("a", RELU, stack=0, aten=RELU), fx("b", RELU, stack=1, aten=RELU)),
        ir_post=(ir(0, "a"), ir(1, "b")),
        run=run_facts("b", files),
    )
    found = record(evolve(value, sources=(snapshot,)))
    assert [op["locations"][0]["text"] for op in found["ops"]] == ["x = f(x)"] * 2


def test_names_that_are_no_utf_8_are_escaped():
    """The record is ASCII, whatever the paths are."""
    files = KernelFiles(kernel=KERNEL, directory="/k/\udcff", sdsc=())
    value = bundle(run=run_facts("\udcff é", files))
    data = render(Attributor(value), files, Path("/b/\udcff"))
    assert data.isascii()
    assert json.loads(data)["compile"]["name"] == "\udcff é"
