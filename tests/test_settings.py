"""The environment variables: what each means, and what means nothing."""

from __future__ import annotations

import pytest
from process import run_python

from torch_spyre_provenance.errors import SettingError
from torch_spyre_provenance.model import Redaction
from torch_spyre_provenance.settings import Settings, from_environment, limit_factor


def test_without_variables_nothing_is_asked_for():
    """The defaults are those of a program that does not know of us."""
    assert Settings() == from_environment({})


@pytest.mark.parametrize(
    ("name", "value", "attribute", "expected"),
    [
        ("TORCH_SPYRE_PROVENANCE", "1", "enabled", True),
        ("TORCH_SPYRE_PROVENANCE_STRICT", "0", "strict", False),
        ("TORCH_SPYRE_PROVENANCE_REDACT", "paths", "redact", Redaction.PATHS),
        ("TORCH_SPYRE_PROVENANCE_REDACT", "none", "redact", Redaction.NONE),
        ("TORCH_SPYRE_PROVENANCE_KEEP", "10", "keep", 10),
        ("TORCH_SPYRE_PROVENANCE_COMPRESS", "0", "compress", 0),
        ("TORCH_SPYRE_PROVENANCE_COMPRESS", "1000000", "compress", 1_000_000),
    ],
)
def test_a_variable_is_read(name, value, attribute, expected):
    """Each has one attribute."""
    assert expected == getattr(from_environment({name: value}), attribute)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("TORCH_SPYRE_PROVENANCE", "yes"),
        ("TORCH_SPYRE_PROVENANCE_REDACT", "everything"),
        ("TORCH_SPYRE_PROVENANCE_KEEP", "0"),
        ("TORCH_SPYRE_PROVENANCE_KEEP", "-1"),
        ("TORCH_SPYRE_PROVENANCE_KEEP", "٣"),
        ("TORCH_SPYRE_PROVENANCE_COMPRESS", "16M"),
    ],
)
def test_a_value_that_means_nothing_is_an_error(name, value):
    """The message has the variable and the value."""
    with pytest.raises(SettingError, match=name):
        from_environment({name: value})


LIMITS = """
from torch_spyre_provenance.store import limits
print(limits.MAX_BYTES, limits.MAX_ITEMS)
"""


def test_the_readers_bounds_grow_together():
    """One factor, for the process."""
    assert 1 == limit_factor({})
    done = run_python(LIMITS, TORCH_SPYRE_PROVENANCE_LIMITS="4")
    assert f"{4 * 512 * 1024 * 1024} {4 * 2_000_000}\n" == done.stdout


def test_a_factor_that_means_nothing_is_one_line(tmp_path):
    """Torch is imported all the same, and the command says what is wrong."""
    variables = {
        "TORCH_SPYRE_PROVENANCE": "1",
        "TORCH_SPYRE_PROVENANCE_LIMITS": "much",
    }
    done = run_python("import torch", **variables)
    assert 0 == done.returncode, done.stderr
    assert "provenance is off: TORCH_SPYRE_PROVENANCE_LIMITS='much'" in done.stderr
    command = "from torch_spyre_provenance.cli import main; raise SystemExit(main())"
    done = run_python(command, "show", tmp_path, **variables)
    assert 1 == done.returncode
    assert done.stderr.startswith("spyre-provenance: TORCH_SPYRE_PROVENANCE_LIMITS")


@pytest.mark.parametrize("value", ["0", "x", "1.5"])
def test_a_factor_that_is_none_is_an_error(value):
    """Bounds cannot be taken away."""
    with pytest.raises(SettingError, match="LIMITS"):
        limit_factor({"TORCH_SPYRE_PROVENANCE_LIMITS": value})
