"""Redaction on disk: every output is searched byte by byte for what must be gone."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from attrs import evolve
from bundle_factory import recorded

from torch_spyre_provenance.analysis.pseudonyms import is_public_name
from torch_spyre_provenance.cli import ExitCode, main
from torch_spyre_provenance.model import Bundle, Redaction
from torch_spyre_provenance.publish import Publisher
from torch_spyre_provenance.store import read_bundle, write_bundle

NAMES = ("simple_mlp_torch2.13", "attention_torch2.13", "twice_torch2.11")
SHORTEST = 4
"""Characters: shorter words are part of too many others to be searched for."""


def secret_value(name: str, kernel_root: Path) -> Bundle:
    """Return a recorded bundle that speaks of people, with kernels on this disk."""
    value = recorded(name)
    files = []
    for number, each in enumerate(value.run.files):
        directory = kernel_root / f"alice_{number}"
        directory.mkdir(parents=True)
        files.append(evolve(each, directory=str(directory)))
    run = evolve(
        value.run,
        files=tuple(files),
        host="alices-host",
        job="alices-job",
        module="/var/torchinductor_alice/ab/cabc.py",
    )
    return evolve(value, run=run, compile=evolve(value.compile, graph="alices_graph"))


def secrets(value: Bundle, what: Redaction) -> set[str]:
    """Return everything of a bundle that must not be found in its redacted form."""
    paths, source, names = set(), set(), set()
    for stack in value.stacks:
        for frame in stack:
            paths.add(frame.file)
            source.add(frame.text or "")
            names.add(frame.function)
    for file in value.sources:
        paths.add(file.path)
        source |= {line.text.strip() for line in file.lines} | {file.sha256}
    paths |= {files.directory for files in value.run.files}
    paths |= {value.run.host, value.run.job, value.run.module, "alice"}
    for graph in (value.fx_pre_grad, value.fx_post_grad):
        names |= {node.name for node in graph.nodes} | set(graph.placeholders)
        for node in graph.nodes:
            names |= {part for call in node.modules for part in call.path.split(".")}
            names |= {call.type for call in node.modules}
    names |= {kernel.name for kernel in value.kernels} | {"alices_graph"}
    wanted = set()
    if what is not Redaction.SOURCE:
        wanted |= paths
    if what is not Redaction.PATHS:
        wanted |= source
    if what is Redaction.ALL:
        wanted |= {name for name in names if not is_public_name(name)}
    return {text for text in wanted if len(text) >= SHORTEST}


def found_in(root: Path, wanted: set[str]) -> list[tuple[str, str]]:
    """Return which texts stand in which files, or in the names of which files.

    A name that is part of a longer one is no find: `permute` stands in
    ``aten.permute.default``, which is PyTorch's.
    """
    patterns = {
        text: re.compile(rb"(?<![\w.])" + re.escape(text.encode()) + rb"(?![\w.])")
        for text in wanted
    }
    hits = []
    for path in (each for each in root.rglob("*") if each.is_file()):
        data = str(path.relative_to(root)).encode() + b"\n" + path.read_bytes()
        hits += [
            (path.name, text)
            for text, pattern in patterns.items()
            if text.encode() in data and pattern.search(data)
        ]
    return hits


VOCABULARY = {"forward", "linear", "permute", "relu", "reshape", "transpose", "view"}
"""Names of nodes that PyTorch's operators have, too, and reports of operators show."""


@pytest.mark.parametrize("what", [Redaction.PATHS, Redaction.SOURCE, Redaction.ALL])
@pytest.mark.parametrize("name", NAMES)
def test_nothing_is_left_in_any_output(name, what, tmp_path, capsys):
    """Bundle, report, page and every printed form have none of the original."""
    value = secret_value(name, tmp_path / "kernels")
    source = write_bundle(tmp_path / "in", value, {})
    out = tmp_path / "out"
    assert ExitCode.OK == main(
        ["redact", str(source), "--out", str(out), "--what", str(what)]
    )
    (directory,) = out.iterdir()
    capsys.readouterr()
    main(["report", str(directory), "--html", str(directory / "page.html")])
    for number, arguments in enumerate(
        (
            ["report", str(directory), "--format", "json"],
            ["report", str(directory), "--format", "mermaid"],
            ["show", str(directory), "--json"],
        )
    ):
        main(arguments)
        text = capsys.readouterr().out.replace(str(directory), "")
        (directory / f"printed_{number}").write_text(text)
    assert [] == found_in(out, secrets(value, what) - public_names(value))
    assert [] != found_in(tmp_path / "in", secrets(value, what) - public_names(value))


@pytest.mark.parametrize("what", [Redaction.PATHS, Redaction.ALL])
def test_a_recording_that_redacts_leaves_nothing_either(what, tmp_path):
    """The records in the kernels' directories say no more than the bundle."""
    value = secret_value("attention_torch2.13", tmp_path / "kernels")
    directory = Publisher(redaction=what).publish(value, tmp_path / "out")
    assert what is read_bundle(directory).redaction
    wanted = secrets(value, what) - public_names(value) - {"alice"}
    assert [] == found_in(tmp_path / "out", wanted)
    assert [] == found_in(tmp_path / "kernels", wanted)
    records = list((tmp_path / "kernels").rglob("provenance.json"))
    assert len(value.run.files) == len(records)
    assert not any(str(tmp_path).encode() in path.read_bytes() for path in records)


@pytest.mark.parametrize("what", [Redaction.PATHS, Redaction.SOURCE, Redaction.ALL])
def test_reports_say_what_was_redacted(what, tmp_path, capsys):
    """Whoever reads one knows that the names are not the model's."""
    source = write_bundle(tmp_path / "in", recorded(NAMES[0]), {})
    main(["redact", str(source), "--out", str(tmp_path / "out"), "--what", str(what)])
    (directory,) = (tmp_path / "out").iterdir()
    main(["report", str(directory), "--html", str(tmp_path / "page.html")])
    assert f"**Redacted ({what})**" in (directory / "report.md").read_text()
    assert f"Redacted ({what})" in (tmp_path / "page.html").read_text()


def public_names(value: Bundle) -> set[str]:
    """Return names of nodes that are also words of operators in the bundle."""
    targets = [node.target for node in value.fx_post_grad.nodes]
    targets += [node.target for node in value.fx_pre_grad.nodes]
    targets += [f"{op.op} {op.op}" for _, op in value.ops]
    return VOCABULARY | {word for text in targets for word in re.findall(r"\w+", text)}
