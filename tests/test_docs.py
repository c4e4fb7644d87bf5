"""The pages under docs/: they cover what the code has, and nothing else."""

from __future__ import annotations

import re
from pathlib import Path

from torch_spyre_provenance import errors
from torch_spyre_provenance.errors import ProvenanceError

DOCS = Path(__file__).parents[1] / "docs"


def test_every_slug_is_explained() -> None:
    """A word in square brackets leads to a heading, and no heading leads nowhere."""
    page = (DOCS / "errors.md").read_text()
    classes = (each for each in vars(errors).values() if isinstance(each, type))
    expected = {each.slug for each in classes if issubclass(each, ProvenanceError)}

    assert expected == set(re.findall(r"^## (.+)$", page, re.MULTILINE))
