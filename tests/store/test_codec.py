"""The JSON border: exact both ways, and suspicious of everything it reads."""

from __future__ import annotations

import gc
import json
import time
from typing import Any

import orjson
import pytest
from bundle_factory import bundle, fx, lines, recorded
from hypothesis import HealthCheck, given, settings
from strategies import bundles

from torch_spyre_provenance.errors import BundleFormatError, BundleVersionError
from torch_spyre_provenance.model import (
    SCHEMA_VERSION,
    CacheState,
    CompileKind,
    Frame,
    Presence,
    Stage,
)
from torch_spyre_provenance.store import codec, limits

SLOW_IS_FINE = settings(
    max_examples=20, deadline=None, suppress_health_check=list(HealthCheck)
)


def plain(name: str = "simple_mlp_torch2.13") -> dict[str, Any]:
    """Return a recorded bundle as plain JSON values."""
    return orjson.loads(codec.dumps(recorded(name)))


def defects(value: object) -> tuple[str, ...]:
    """Return the defects of a JSON value that is no bundle."""
    with pytest.raises(BundleFormatError) as caught:
        codec.loads(json.dumps(value).encode())
    return caught.value.defects


@SLOW_IS_FINE
@given(bundles())
def test_a_bundle_survives_the_round_trip(value):
    """Whatever a bundle holds, lone surrogates included, comes back equal."""
    assert codec.loads(codec.dumps(value)) == value


@SLOW_IS_FINE
@given(bundles())
def test_the_text_is_canonical(value):
    """Writing what was read gives the same bytes."""
    text = codec.dumps(value)
    assert text == codec.dumps(codec.loads(text))


def test_the_version_comes_first_and_each_node_has_its_line():
    """A bundle can be told by its first lines and compared line by line."""
    rows = codec.dumps(recorded("simple_mlp_torch2.13")).decode().splitlines()
    assert rows[:2] == ["{", f'"schema_version": {SCHEMA_VERSION},']
    assert sum('"target":"aten.relu.default"' in row for row in rows) == 1


def test_enums_come_back_as_enums():
    """A value equal to a string is not enough: its type is the model's."""
    value = codec.loads(codec.dumps(recorded("simple_mlp_torch2.13")))
    kinds = (
        type(value.compile.kind),
        type(value.run.cache),
        type(value.observations[0].stage),
        type(value.fx_pre_grad.nodes[0].fields[0].presence),
    )
    assert kinds == (CompileKind, CacheState, Stage, Presence)


def test_handle_ids_are_strings():
    """A JavaScript reader would round a number of 63 bits."""
    ops = plain()["kernels"][0]["ops"]
    assert {type(op["handle"]["id"]) for op in ops} == {str}


def test_every_defect_is_listed_with_its_path():
    """One reading names all that is wrong, each with where it is."""
    value = plain()
    value["compile"]["kind"] = "x"
    value["compile"]["devices"] = [1, "spyre"]
    value["stacks"][0][0]["line"] = -1
    value["stacks"][1] = None
    value["fx_pre_grad"]["nodes"][1]["stack"] = "1"
    value["kernels"][0]["ops"][0]["handle"]["id"] = 3
    value["observations"][0]["fired"] = True
    value["run"]["versions"] = [["torch"]]
    value["bogus"] = 1
    del value["run"]["pid"]
    assert set(defects(value)) == {
        "expected one of inference, forward, backward; found 'x' @ $.compile.kind",
        "expected a string, found a number @ $.compile.devices[0]",
        "'line' must be >= 0: -1 @ $.stacks[0][0]",
        "expected a list, found null @ $.stacks[1]",
        "expected an integer, found a string @ $.fx_pre_grad.nodes[1].stack",
        "expected a string, found a number @ $.kernels[0].ops[0].handle.id",
        "expected an integer, found a truth value @ $.observations[0].fired",
        "expected a pair, found a list of 1 @ $.run.versions[0]",
        "missing key 'pid' @ $.run.pid",
        "unknown key 'bogus' @ $",
    }


@pytest.mark.parametrize(
    ("path", "wrong"),
    [
        (("schema_version",), "1"),
        (("schema_version",), True),
        (("schema_version",), 0),
        (("compile", "graph"), 3),
        (("compile", "front_end"), 3),
        (("run", "pid"), 1.5),
        (("run", "pid"), 1 << 64),
        (("stacks", 0, 0, "line"), None),
        (("kernels", 0, "ops", 0, "is_reduction"), 1),
        (("kernels", 0, "ops", 0, "path"), ["0"]),
        (("kernels", 0, "ops", 0, "handle", "id"), "007"),
        (("kernels", 0, "ops", 0, "handle", "id"), "-1"),
        (("kernels", 0, "ops", 0, "handle", "id"), "9999999999999999999"),
        (("kernels", 0, "ops", 0, "handle", "id"), "٣"),
        (("fx_post_grad", "nodes", 0, "fields", 0, "presence"), "there"),
        (("fx_post_grad", "nodes", 0, "inputs"), "arg0_1"),
    ],
)
def test_nothing_is_coerced(path, wrong):
    """A value of another type or range is refused, however close it looks."""
    value = plain()
    place = value
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = wrong
    assert len(defects(value)) == 1


def test_a_stack_index_leads_somewhere():
    """An index beyond the stacks is a defect, and not an error in a report."""
    value = plain()
    value["fx_pre_grad"]["nodes"][1]["stack"] = 99
    value["fx_post_grad"]["nodes"][0]["stack"] = -1
    assert defects(value) == (
        "there is no stack 99 @ $.fx_pre_grad.nodes[1].stack",
        "there is no stack -1 @ $.fx_post_grad.nodes[0].stack",
    )


def test_a_newer_bundle_is_refused_by_name():
    """The message says which version it is and what to do."""
    value = plain() | {"schema_version": SCHEMA_VERSION + 1, "new_key": 1}
    with pytest.raises(
        BundleVersionError, match=rf"version {SCHEMA_VERSION + 1}.*upgrade"
    ):
        codec.loads(json.dumps(value).encode())


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{",
        b"null",
        b"[]",
        b"{}",
        b'"text"',
        b"\xff\xfe",
        b'{"schema_version": NaN}',
        b"[" * 100_000,
        b'{"a":' * 2_000 + b"1" + b"}" * 2_000,
        b'{"schema_version": 1, "x": "\\ud800"}',
        b'{"x": "\\ud800", "y": ' + b"[" * 100_000,
    ],
)
def test_what_is_no_bundle_is_refused_in_one_line(data):
    """Foreign and truncated files give one clear line and a defect."""
    with pytest.raises(BundleFormatError) as caught:
        codec.loads(data, source="other.json")
    assert str(caught.value).startswith("other.json is ")
    assert "\n" not in str(caught.value)
    assert caught.value.defects[0].rpartition(" @ ")[2].startswith("$")


def test_a_truncated_bundle_is_refused_wherever_it_ends():
    """No prefix of a bundle passes for one."""
    text = codec.dumps(recorded("simple_mlp_torch2.13"))
    for end in range(0, len(text) - 2, 997):
        with pytest.raises(BundleFormatError):
            codec.loads(text[:end])


def test_the_number_of_defects_is_bounded():
    """A file of nothing but defects gives a list of bounded length."""
    value = plain()
    value["compile"]["devices"] = [1] * 1000
    found = defects(value)
    assert len(found) == limits.MAX_DEFECTS + 1
    assert found[-1] == "950 more defects @ $"


def test_long_strings_and_lists_are_refused(monkeypatch):
    """The bounds are looked at where the values are read."""
    value = plain()
    monkeypatch.setattr("torch_spyre_provenance.store.exact.MAX_STRING", 8)
    monkeypatch.setattr("torch_spyre_provenance.store.exact.MAX_ITEMS", 3)
    value["compile"]["graph"] = "123456789"
    value["compile"]["devices"] = ["a"] * 4
    found = defects(value)
    assert "a string of 9 characters; 8 is most @ $.compile.graph" in found
    assert "a list of 4 items; 3 is most @ $.compile.devices" in found


def test_a_large_file_is_refused_before_it_is_parsed(monkeypatch):
    """The bound on bytes comes first."""
    monkeypatch.setattr(codec, "MAX_BYTES", 10)
    with pytest.raises(BundleFormatError, match="larger than 10 bytes"):
        codec.loads(b"[" * 11)


def test_deeply_nested_handles_are_refused():
    """Constituents of constituents end somewhere."""
    value = plain()
    handle = value["kernels"][0]["ops"][0]["handle"]
    for _ in range(limits.MAX_HANDLE_DEPTH + 1):
        handle = handle | {"fused_from": [handle]}
    value["kernels"][0]["ops"][0]["handle"] = handle
    assert defects(value)[0].startswith("handles nested more than 32 deep")


def test_a_path_that_is_no_utf_8_survives():
    """Linux paths can hold bytes that Python shows as lone surrogates."""
    frame = Frame(file="/models/\udcff.py", line=3, text="été")
    value = bundle(stacks=((frame,),), pre=(fx("x", "relu", stack=0),))
    text = codec.dumps(value)
    assert b"\\udcff" in text
    assert codec.loads(text) == value


def test_the_collector_is_as_it_was():
    """Pausing garbage collection ends with the call, also when it fails."""
    gc.disable()
    try:
        codec.dumps(bundle())
        assert not gc.isenabled()
    finally:
        gc.enable()
    with pytest.raises(BundleFormatError):
        codec.loads(b"{}")
    assert gc.isenabled()


def test_ten_thousand_nodes_take_about_a_second():
    """Writing and reading are linear and quick (the bounds allow a busy machine)."""
    nodes = tuple(
        fx(f"x_{n}", "relu", f"x_{n - 1}", stack=n, aten="aten.relu.default")
        for n in range(10_000)
    )
    value = bundle(stacks=lines(*range(10_000)), pre=nodes, post=nodes)
    start = time.process_time()
    text = codec.dumps(value)
    written = time.process_time()
    assert codec.loads(text) == value
    assert written - start < 1
    assert time.process_time() - written < 3
