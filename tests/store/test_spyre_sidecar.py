"""torch-spyre's own ``spyre_provenance.json``, asked as a bundle is."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path

import pytest
from spyre_sidecar import ADD, FUSED, KERNEL, KEYS, OTHER, SECOND, sidecar, written

from torch_spyre_provenance.analysis.attribution import Attributor, attribute
from torch_spyre_provenance.analysis.lineage import Level, build_lineage
from torch_spyre_provenance.cli import main
from torch_spyre_provenance.commands.conventions import ExitCode
from torch_spyre_provenance.errors import BundleFormatError, BundleVersionError
from torch_spyre_provenance.model import Evidence
from torch_spyre_provenance.store import read_bundle
from torch_spyre_provenance.store.spyre_sidecar import parse_sidecar, read_sidecar

LATER = f"{KERNEL}@{SECOND[:8]}"
RENAMED = f"mm@{SECOND[:8]}"


def read(content: object = None):
    """Return a sidecar as it is read."""
    return parse_sidecar(json.dumps(content or sidecar()).encode())


def test_kernels_have_their_ops_in_order():
    """By their place in the kernel's tree; the compiles' kernels are told apart."""
    kernels = read().bundle.kernels

    assert [kernel.name for kernel in kernels] == [KERNEL, LATER]
    assert [op.spec_path for op in kernels[0].ops] == ["0.0", "1"]
    assert kernels[0].ops[1].handle.fused_from[0].id == int(ADD)
    assert [step.kind for step in kernels[0].ops[1].handle.transform_history] == [
        "fusion"
    ]


def test_every_op_has_the_lines_of_its_handles():
    """A fusion has all of them, measured; one name in two compiles is two nodes."""
    lines = {
        (found.kernel, found.path): [place.where for place in found.locations]
        for found in attribute(read().bundle)
    }

    assert lines == {
        (KERNEL, (0, 0)): ["/home/u/model.py:10"],
        (KERNEL, (1,)): ["/home/u/model.py:10", "/home/u/model.py:11"],
        (LATER, (0,)): ["/home/u/model.py:20"],
    }
    evidence = {found.evidence for found in attribute(read().bundle)}
    assert evidence == {Evidence.MEASURED}


def test_pre_grad_nodes_are_joined():
    """As Inductor's map has them, for the compile that has one."""
    edges = build_lineage(Attributor(read().bundle)).edges
    calls = {
        (edge.start.key, edge.end.key)
        for edge in edges
        if edge.start.level is Level.FX_PRE_GRAD
    }

    assert calls == {("linear", "mm"), ("linear", "add"), ("relu_1", "relu")}
    assert RENAMED in {node.name for node in read().bundle.fx_post_grad.nodes}


def test_ids_are_exact():
    """All 63 bits of them, as no reader of floating point numbers would have it."""
    ids = [op.handle.id for _, op in read().bundle.ops]

    assert int(OTHER) in ids
    assert int(float(OTHER)) not in ids


def test_keys_are_by_kernel():
    """For the events of a profiler's trace."""
    assert read().keys == {KERNEL: KEYS[0], LATER: KEYS[1]}


def test_what_the_file_does_not_hold_says_so():
    """Stages that torch-spyre does not write are not called empty."""
    notes = {each.stage: each for each in read().bundle.observations}

    assert "does not hold it" in notes["loop_ir_post"].unavailable
    assert (notes["op_spec"].fired, notes["op_spec"].unavailable) == (2, None)


def test_a_failed_collection_is_a_failed_observation():
    """Its counters are not lost."""
    content = sidecar() | {"diagnostics": {"collection-failure": 3}}
    (specs,) = (o for o in read(content).bundle.observations if o.stage == "op_spec")

    assert (specs.failed, specs.error) == (3, "collection-failure in torch-spyre")


def test_an_empty_join_has_its_reason():
    """No pre-grad node, because the code came from a cache."""
    content = sidecar()
    content["upstreamProjections"] = {SECOND: content["upstreamProjections"][SECOND]}
    (pre,) = (o for o in read(content).bundle.observations if o.stage == "fx_pre_grad")

    assert pre.unavailable.endswith("unavailable-cache-replay")


def test_a_directory_with_a_sidecar_is_one(tmp_path: Path):
    """Unless it has a bundle of ours."""
    written(tmp_path / "spyre_provenance.json")

    assert read_bundle(tmp_path) == read().bundle
    assert read_sidecar(tmp_path).keys == read().keys
    assert read_sidecar(Path(__file__)) is None


@pytest.mark.parametrize(
    ("arguments", "code", "text"),
    [
        (("show",), 0, f"kernel  {KERNEL}"),
        (("show", "model.py:11"), 0, "1 op in 1 kernel"),
        (("show", FUSED), 0, "measured (own-stack"),
        (("show", KEYS[0]), 0, "2 ops in 1 kernel"),
        (("show", f"spyre_kernel_v1_fused_mm_{KEYS[1]}#4"), 0, "model.py:20"),
        (("show", f"{KERNEL}:0.0"), 0, "aten.mm.default"),
        (("report",), 0, "# Source-to-Kernel Provenance"),
        (("check", "--min-attributed", "100%"), 0, "3 of 3 ops have a line"),
    ],
)
def test_commands_work_on_it(capsys, tmp_path, arguments, code, text):
    """As on a bundle."""
    path = written(tmp_path / "spyre_provenance.json")
    command, *rest = arguments

    assert code == main([command, str(path), *rest])
    assert text in capsys.readouterr().out


def test_two_of_them_are_compared(capsys, tmp_path):
    """A moved line is told; the same file has no difference."""
    before = written(tmp_path / "a.json")
    moved = json.loads(
        json.dumps(sidecar()).replace('"start_line": 20', '"start_line": 21')
    )
    after = written(tmp_path / "b.json", moved)

    assert ExitCode.OK == main(["diff", str(before), str(before)])
    assert capsys.readouterr().out == "no difference\n"
    assert ExitCode.OK == main(["diff", str(before), str(after)])
    assert "moved" in capsys.readouterr().out


def test_a_later_version_is_refused():
    """It is not read as if it were this one."""
    with pytest.raises(BundleVersionError, match="schema version 2"):
        read(sidecar() | {"schemaVersion": 2})


@pytest.mark.parametrize("key", sorted(sidecar()))
@pytest.mark.parametrize("value", [None, 1, "x", [], {"x": 1}, [[]]])
def test_what_is_damaged_is_refused_or_read(key, value):
    """With the one error, whatever is wrong and where."""
    with suppress(BundleFormatError):
        read(sidecar() | {key: value})


@pytest.mark.parametrize(
    "path", [("handles", ADD, "source"), ("kernelIdentities", KEYS[0])]
)
def test_missing_parts_are_named(path):
    """The message has the key."""
    content = sidecar()
    inner = content
    for key in path[:-1]:
        inner = inner[key]
    del inner[path[-1]]

    with pytest.raises(BundleFormatError, match=rf"missing key|{path[-1]}"):
        read(content)
