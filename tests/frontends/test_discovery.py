"""Which front end is chosen, and what is said of the others."""

from __future__ import annotations

import importlib.metadata
import sys
from pathlib import Path
from types import ModuleType

import pytest

from torch_spyre_provenance.errors import FrontEndError
from torch_spyre_provenance.frontends import discovery
from torch_spyre_provenance.frontends.discovery import (
    find_front_end,
    load_front_end,
)


@pytest.fixture
def package(tmp_path, monkeypatch):
    """An importable torch_spyre that was never built."""
    folder = tmp_path / "torch_spyre"
    folder.mkdir()
    (folder / "__init__.py").write_text("raise AssertionError('imported')\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "torch_spyre", raising=False)
    monkeypatch.delitem(sys.modules, "torch_spyre._C", raising=False)
    return folder


@pytest.fixture
def nothing_installed(monkeypatch):
    """No torch_spyre to be found."""
    monkeypatch.setattr(discovery, "package_spec", lambda: None)


def names(found):
    """The names of the candidates."""
    return [candidate.name for candidate in found.candidates]


@pytest.mark.usefixtures("nothing_installed")
def test_without_torch_spyre_it_is_the_reference():
    """The reference front end is what remains, and the reason is kept."""
    found = find_front_end()
    assert ["torch-spyre", "reference"] == names(found)
    assert "reference" == found.chosen.name
    assert "torch-spyre is not installed" == found.candidates[0].missing


def test_a_built_torch_spyre_is_preferred(package):
    """An installed torch-spyre is chosen without being imported."""
    (package / "_C.py").touch()
    found = find_front_end()
    assert "torch-spyre" == found.chosen.name
    assert str(package / "__init__.py") == found.chosen.where


def test_a_torch_spyre_that_was_never_built_is_passed_over(package):
    """Sources alone are not chosen, and the remedy names the checkout."""
    found = find_front_end()
    assert "reference" == found.chosen.name
    assert f"--torch-spyre {package.parent}" in found.candidates[0].missing


def test_a_folder_of_that_name_is_no_package(package):
    """A directory that happens to have the name is not taken for torch-spyre."""
    (package / "__init__.py").unlink()
    found = find_front_end("torch-spyre")
    assert found.chosen is None
    assert "no __init__.py" in found.candidates[0].missing


def test_a_module_without_a_spec_is_nothing(monkeypatch):
    """A stub in sys.modules does not break the search."""
    stub = ModuleType("torch_spyre")
    stub.__spec__ = None
    monkeypatch.setitem(sys.modules, "torch_spyre", stub)
    assert "torch-spyre is not installed" == find_front_end().candidates[0].missing


def test_a_checkout_comes_first(package, tmp_path):
    """A checkout that is named is the only candidate."""
    (package / "_C.py").touch()
    for requested in (None, "torch-spyre"):
        found = find_front_end(requested, tmp_path)
        assert ["torch-spyre-cardless"] == names(found)
        assert str(tmp_path) == found.chosen.where


def test_a_request_for_the_reference_overrules_a_checkout(tmp_path):
    """Asking for the reference front end gives that one."""
    assert ["reference"] == names(find_front_end("reference", tmp_path))


@pytest.mark.usefixtures("nothing_installed")
def test_a_request_that_cannot_be_met_says_why():
    """No other front end takes the place of the one asked for."""
    with pytest.raises(
        FrontEndError,
        match=r"no usable Spyre front end: torch-spyre: torch-spyre is not installed",
    ):
        load_front_end("torch-spyre")


def test_an_unknown_name_is_refused():
    """A name that means nothing is an error, with the names that do."""
    with pytest.raises(FrontEndError, match="'rocm': reference or torch-spyre"):
        find_front_end("rocm")


def test_a_path_that_is_no_checkout_fails_on_loading(tmp_path):
    """The checkout is looked at when it is loaded."""
    with pytest.raises(FrontEndError, match="is no torch-spyre checkout"):
        load_front_end(None, tmp_path)


@pytest.mark.parametrize(("autoload", "chosen"), [("1", None), ("0", "reference")])
def test_the_reference_gives_way_to_a_torch_spyre_that_loads_itself(
    monkeypatch, autoload, chosen
):
    """Two packages cannot both register the device; torch's switch decides."""
    point = importlib.metadata.EntryPoint(
        "torch_spyre", "torch_spyre:_autoload", "torch.backends"
    )
    monkeypatch.setattr(discovery, "entry_points", lambda group: [point])
    monkeypatch.setenv("TORCH_DEVICE_BACKEND_AUTOLOAD", autoload)
    found = find_front_end("reference")
    assert chosen == (found.chosen and found.chosen.name)
    if chosen is None:
        assert "TORCH_DEVICE_BACKEND_AUTOLOAD=0" in found.candidates[0].missing


def test_the_reference_loads():
    """The reference front end is loaded through its candidate."""
    front_end = load_front_end("reference")
    assert "reference" == front_end.name
    assert Path(find_front_end("reference").chosen.where).is_dir()
