"""Bundles of older versions, each read as what it was."""

from __future__ import annotations

import json

import pytest
from attrs import evolve
from bundle_factory import BUNDLES, recorded
from jsonschema import Draft202012Validator

from torch_spyre_provenance.errors import BundleFormatError
from torch_spyre_provenance.model import SCHEMA_VERSION, Redaction
from torch_spyre_provenance.store import codec, read_bundle
from torch_spyre_provenance.store.migrations import MIGRATIONS, migrate
from torch_spyre_provenance.store.schema import shipped_schema

OLDER = tuple(range(1, SCHEMA_VERSION))


def plain(version: int) -> dict:
    """Return the recorded bundle of a version as it lies on disk."""
    return json.loads((BUNDLES / f"schema_{version}.json").read_bytes())


def test_every_older_version_has_a_step():
    """Nothing that was ever written is left behind."""
    assert OLDER == tuple(MIGRATIONS)


@pytest.mark.parametrize("version", OLDER)
def test_a_bundle_of_every_older_version_is_read(version):
    """It comes back as the same compile recorded in the present format."""
    value = read_bundle(BUNDLES / f"schema_{version}.json")
    assert recorded("simple_mlp_torch2.13") == value
    assert (SCHEMA_VERSION, Redaction.NONE) == (value.schema_version, value.redaction)


@pytest.mark.parametrize("version", OLDER)
def test_every_older_version_follows_the_schema_that_shipped_with_it(version):
    """The recorded bundle is a true one of its version."""
    validator = Draft202012Validator(shipped_schema(version))
    assert [] == list(validator.iter_errors(plain(version)))


@pytest.mark.parametrize("version", OLDER)
def test_a_step_changes_nothing_in_what_it_was_given(version):
    """The caller's object is the file's content still."""
    before = plain(version)
    migrate(before)
    assert plain(version) == before


@pytest.mark.parametrize("version", OLDER)
def test_defects_of_an_older_bundle_are_listed_too(version):
    """Migrating does not make a broken bundle look whole."""
    broken = {**plain(version), "stacks": None, "bogus": 1}
    with pytest.raises(BundleFormatError) as caught:
        codec.loads(json.dumps(broken).encode())
    assert {
        "expected a list, found null @ $.stacks",
        "unknown key 'bogus' @ $",
    } == set(caught.value.defects)


def test_a_bundle_that_was_cut_off_is_refused():
    """The recorded one that is corrupt gives one clear line."""
    with pytest.raises(BundleFormatError, match=r"corrupt\.json is not JSON"):
        read_bundle(BUNDLES / "corrupt.json")


def test_what_is_written_is_of_the_present_version():
    """Reading an old bundle and writing it makes a new one."""
    value = read_bundle(BUNDLES / "schema_1.json")
    text = codec.dumps(evolve(value))
    assert SCHEMA_VERSION == json.loads(text)["schema_version"]
