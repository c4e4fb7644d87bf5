"""The JSON Schema says what the reader accepts."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from bundle_factory import RECORDED, recorded
from hypothesis import HealthCheck, given, settings
from jsonschema import Draft202012Validator
from strategies import bundles

import torch_spyre_provenance.store
from torch_spyre_provenance.model import SCHEMA_VERSION
from torch_spyre_provenance.store import dumps
from torch_spyre_provenance.store.schema import build_schema, shipped_schema

VALIDATOR = Draft202012Validator(build_schema())
SCHEMAS = Path(torch_spyre_provenance.store.__path__[0]) / "schemas"
SHIPPED = SCHEMAS / f"bundle-{SCHEMA_VERSION}.json"


def test_the_shipped_schema_is_that_of_the_model(update_goldens):
    """A change of the model without its schema fails here."""
    if update_goldens:
        text = json.dumps(build_schema(), indent=2, ensure_ascii=False)
        SHIPPED.write_text(f"{text}\n", encoding="utf-8")
    assert shipped_schema() == build_schema()


def test_the_schema_is_one():
    """The schema is valid itself."""
    Draft202012Validator.check_schema(build_schema())


@pytest.mark.parametrize("name", RECORDED)
def test_recorded_bundles_are_valid(name):
    """What the recorder writes follows the schema."""
    assert list(VALIDATOR.iter_errors(json.loads(dumps(recorded(name))))) == []


@settings(max_examples=10, deadline=None, suppress_health_check=list(HealthCheck))
@given(bundles())
def test_every_bundle_is_valid(value):
    """What the writer writes follows the schema, whatever it holds."""
    assert list(VALIDATOR.iter_errors(json.loads(dumps(value)))) == []


@pytest.mark.parametrize(
    ("key", "wrong"),
    [("schema_version", 1), ("bogus", 1), ("compile", None), ("stacks", [[{}]])],
)
def test_the_schema_refuses_what_the_reader_refuses(key, wrong):
    """Unknown keys, other versions and wrong types are errors for both."""
    value = json.loads(dumps(recorded("simple_mlp_torch2.13"))) | {key: wrong}
    assert not VALIDATOR.is_valid(value)


def test_every_attribute_is_explained():
    """The schema quotes what the model says of each attribute."""
    schema = build_schema()
    bare = [
        f"{name}.{key}"
        for name, part in {"Bundle": schema, **schema["$defs"]}.items()
        for key, value in part["properties"].items()
        if "description" not in value
    ]
    # Two small classes explain their attributes in one sentence.
    assert bare == ["SourceFn.name", "SourceFn.target"]
