"""Findings on fields: what counts as content, and that equal ones are one object."""

from __future__ import annotations

import pytest
from torch.utils._ordered_set import OrderedSet

from torch_spyre_provenance.model import Field, Presence
from torch_spyre_provenance.recording.findings import absent, of_value, shared

FULL = ["a", [0], (0,), {0: 0}, {0}, OrderedSet([0]), 0, 1.5]


@pytest.mark.parametrize("value", FULL)
def test_content_is_populated(value):
    """A number is content, zero too; a container if something is in it."""
    assert of_value("origins", value) == Field(
        name="origins", presence=Presence.POPULATED, type=type(value).__name__
    )


@pytest.mark.parametrize("value", ["", [], (), {}, set(), OrderedSet()])
def test_an_empty_container_is_empty(value):
    """It has a type, and no content."""
    assert of_value("origins", value) == Field(
        name="origins", presence=Presence.EMPTY, type=type(value).__name__
    )


def test_none_is_empty_and_has_no_type():
    """The slot exists."""
    assert of_value("origins", None) == Field(name="origins", presence=Presence.EMPTY)


def test_equal_findings_are_one_object():
    """So that each is written once."""
    one = shared((of_value("origins", [1]), absent("origin_node")))
    other = shared((of_value("origins", [2, 3]), absent("origin_node")))
    assert one is other
