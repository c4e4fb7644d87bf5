"""``--torch-spyre PATH`` where the path leads nowhere, and the doctor without it."""

from __future__ import annotations

import json

import pytest

from torch_spyre_provenance.cli import ExitCode, main
from torch_spyre_provenance.doctor import examination_text, examine


@pytest.fixture
def nowhere(tmp_path):
    """Paths that are no checkout, each with what is said of it."""
    (tmp_path / "file").touch()
    (tmp_path / "half" / "torch_spyre").mkdir(parents=True)
    (tmp_path / "half" / "torch_spyre" / "__init__.py").touch()
    lacking = "_inductor/scheduler.py, execution/async_compile.py"
    return {
        tmp_path / "missing": "is no torch-spyre checkout",
        tmp_path / "file": "is no torch-spyre checkout",
        tmp_path: "is no torch-spyre checkout: it has no directory torch_spyre",
        tmp_path / "half": f"is no torch-spyre that can be used: it lacks {lacking}",
    }


def test_an_audit_through_it_is_one_line(nowhere, capfd):
    """Exit code 1, nothing on standard output, and a message that names the path."""
    for path, message in nowhere.items():
        code = main(["audit", "--torch-spyre", str(path), "--json"])
        output, errors = capfd.readouterr()
        *_, last = errors.splitlines()
        assert (ExitCode.ERROR, "") == (code, output)
        assert message in last
        assert str(path) in last
        assert last.endswith("[front-end]")


def test_the_doctor_reports_it(nowhere, capfd):
    """The doctor goes on with what there is, and its verdict is no."""
    for path, message in nowhere.items():
        code = main(["doctor", "--torch-spyre", str(path), "--json"])
        report = json.loads(capfd.readouterr().out)
        assert ExitCode.VERDICT == code
        assert None is report["front_end"]
        (found,) = [f for f in report["findings"] if f["topic"] == "front end"]
        assert not found["is_good"]
        assert message in found["value"]


def test_the_doctor_finds_the_reference(monkeypatch, tmp_path):
    """Without a checkout everything is available, and where bundles go is said."""
    monkeypatch.setenv("TORCH_SPYRE_PROVENANCE_DIR", str(tmp_path / "out"))
    examination = examine()
    assert "reference" == examination.front_end
    found = {(each.topic, each.name): each for each in examination.findings}
    assert str(tmp_path / "out") == found["path", "bundles"].value
    assert "torch-spyre is not installed" in found["front end", "torch-spyre"].value
    seams = [each for each in examination.findings if each.topic == "seam"]
    assert {"available"} == {each.value for each in seams}
    assert str(tmp_path / "out") == (
        found["variable", "TORCH_SPYRE_PROVENANCE_DIR"].value
    )


def test_the_doctors_text_marks_what_cannot_be_used(monkeypatch, tmp_path):
    """A line for each finding, a mark before the bad ones, and what would be used."""
    readonly = tmp_path / "file"
    readonly.touch()
    monkeypatch.setenv("TORCH_SPYRE_PROVENANCE_DIR", str(readonly / "below"))
    text = examination_text(examine())
    assert "! torch-spyre                  not found: torch-spyre is not" in text
    assert "  reference                    " in text
    assert text.endswith("a recording would use: reference")
    assert f"! bundles                      {readonly / 'below'} (cannot be" in text
