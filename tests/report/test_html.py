"""The page as a file: whole, inert, and the same each time."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from html.parser import HTMLParser

import pytest
from attrs import evolve
from bundle_factory import BUNDLES, RECORDED, bundle, fx, line, recorded

from torch_spyre_provenance.cli import ExitCode, main
from torch_spyre_provenance.model import Observation, Redaction, Stage
from torch_spyre_provenance.report.html import render
from torch_spyre_provenance.store import dumps

HOSTILE = '</script><script>alert(1)</script><img src=x onerror="alert(1)">{{ 7 * 7 }}'


class Elements(HTMLParser):
    """All elements of a page, with their attributes and the text inside."""

    def __init__(self, page: bytes) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.texts: dict[int, str] = {}
        self.is_open = False
        self.feed(page.decode("utf-8"))

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))
        self.is_open = True

    def handle_endtag(self, tag):
        self.is_open = False

    def handle_data(self, data):
        if self.is_open:
            number = len(self.found)
            self.texts[number] = self.texts.get(number, "") + data

    def inside(self, tag: str) -> list[str]:
        """Return the text that begins in each element of a kind."""
        return [
            self.texts.get(number, "")
            for number, (name, _) in enumerate(self.found, 1)
            if name == tag
        ]


@pytest.mark.parametrize("name", RECORDED)
def test_a_page_is_the_same_each_time(name: str):
    """No clock, no host name, no order of hashing."""
    assert render(recorded(name)) == render(recorded(name))


def test_a_page_asks_for_nothing():
    """It has no address to load from, and its policy allows none."""
    page = Elements(render(recorded("attention_torch2.13")))
    addresses = [
        value
        for _, attributes in page.found
        for name, value in attributes.items()
        if name in {"src", "srcset", "href", "action", "data"}
    ]

    assert all(address.startswith(("#", "data:,")) for address in addresses)
    assert "@import" not in page.inside("style")[0]
    assert "url(" not in page.inside("style")[0]


def test_the_policy_knows_the_script_and_the_style():
    """Only these two may act, by their digests."""
    page = Elements(render(recorded("simple_mlp_torch2.13")))
    policy = next(a["content"] for _, a in page.found if "http-equiv" in a)
    style, script = page.inside("style")[0], page.inside("script")[1]

    for kind, text in (("style-src", style), ("script-src", script)):
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"{kind} 'sha256-{digest}'" in policy
    assert policy.startswith("default-src 'none';")


def test_hostile_names_stay_text():
    """Nothing in a bundle becomes an element or a template."""
    observation = Observation(
        point=HOSTILE, stage=Stage.FX_PRE_GRAD, failed=1, error=HOSTILE
    )
    value = bundle(
        stacks=(line(1, HOSTILE, file=f"/{HOSTILE}.py"),),
        pre=(fx(HOSTILE, HOSTILE, stack=0, module=HOSTILE),),
        post=None,
        observations=(observation,),
    )
    value = evolve(
        value,
        compile=evolve(value.compile, graph=HOSTILE, error=HOSTILE, front_end=HOSTILE),
        run=evolve(value.run, name=HOSTILE),
    )
    plain = Elements(render(recorded("simple_mlp_torch2.13")))
    page = Elements(render(value))
    data = json.loads(page.inside("script")[0])

    assert {tag for tag, _ in page.found} == {tag for tag, _ in plain.found} | {"p"}
    assert len(page.inside("script")) == 2
    assert [a for _, a in page.found if "onerror" in a] == []
    assert data["columns"]["fx_pre_grad"]["names"] == [HOSTILE]
    assert page.inside("title")[0].startswith(HOSTILE)


def test_names_that_are_no_utf_8_are_escaped():
    """A Linux path can hold any byte; the page is UTF-8 in any case."""
    value = bundle(stacks=(line(1, "x", file="/\udcff.py"),), pre=None, post=None)
    value = evolve(value, run=evolve(value.run, name="\udcff"))

    assert "\\udcff" in render(value).decode("utf-8")


def test_the_page_says_that_it_has_source():
    """Who passes it on should know."""
    assert b"This page contains source of the model." in render(bundle())


@pytest.mark.parametrize("name", RECORDED)
def test_the_figures_are_those_of_the_bundle(name: str):
    """The first screen counts the ops and how their lines are known."""
    value = recorded(name)
    text = render(value).decode()
    n_ops = len(value.ops)

    assert f"<strong>{n_ops} of {n_ops}</strong>" in text
    assert len(re.findall('<th scope="row">', text)) == 10


def test_an_unrecorded_stage_says_why():
    """An empty column is told from one that was not observable."""
    observation = Observation(
        point="pre_grad", stage=Stage.FX_PRE_GRAD, unavailable="no seam; use a backend"
    )
    page = render(bundle(pre=None, observations=(observation,)))

    assert b'<p class="why">Not observable here: no seam; use a backend</p>' in page


def test_the_command_writes_the_page(tmp_path, capsys):
    """Into the file that was named, and nothing on standard output."""
    file = tmp_path / "page.html"
    bundle_file = BUNDLES / "simple_mlp_torch2.13.json"
    code = main(["report", str(bundle_file), "--html", str(file)])

    assert (code, capsys.readouterr()) == (ExitCode.OK, ("", ""))
    assert file.read_bytes() == render(recorded("simple_mlp_torch2.13"))


def test_files_are_put_into_a_page_that_asks_for_them(capsys, tmp_path):
    """Those that lie unchanged where the bundle says; other forms have no room."""
    text = '{"0_batchmatmul": {"opFuncName_": "batchmatmul"}}'
    (tmp_path / "sdsc_0.json").write_text(text)
    whole = recorded("simple_mlp_torch2.13")
    (files,) = whole.run.files
    first = evolve(files.sdsc[0], sha256=hashlib.sha256(text.encode()).hexdigest())
    files = evolve(files, directory=str(tmp_path), sdsc=(first, *files.sdsc[1:]))
    moved = evolve(whole, run=evolve(whole.run, files=(files,)))
    source, page = tmp_path / "bundle.json", tmp_path / "page.html"
    source.write_bytes(dumps(moved))

    code = main(["report", str(source), "--html", str(page), "--with-files"])
    (data, _) = Elements(page.read_bytes()).inside("script")
    found = json.loads(data)

    assert code == ExitCode.OK
    assert [json.loads(each) for each in found["documents"]] == [json.loads(text)]
    assert found["columns"]["super_dsc"]["document"] == [0, -1, -1, -1, -1]
    assert ExitCode.USAGE == main(["report", str(source), "--with-files"])
    assert "--with-files is for a page: add --html FILE" in capsys.readouterr().err


def test_a_page_that_cannot_be_written_is_one_line(tmp_path, capsys):
    """The directory is missing."""
    file = tmp_path / "nowhere" / "page.html"
    bundle_file = BUNDLES / "simple_mlp_torch2.13.json"
    code = main(["report", str(bundle_file), "--html", str(file)])

    assert code == ExitCode.ERROR
    assert capsys.readouterr().err == (
        f"spyre-provenance: cannot write {file}: No such file or directory [output]\n"
    )


def test_a_page_can_have_several_bundles(capsys, tmp_path):
    """A choice, and for each its facts, its tables and its data."""
    names = ("simple_mlp_torch2.13", "attention_torch2.13", "simple_mlp_torch2.13")
    page = Elements(render(*map(recorded, names)))
    scripts = page.inside("script")
    data = [json.loads(text) for text in scripts[:-1]]
    options = [a["value"] for tag, a in page.found if tag == "option" and a["value"]]
    ids = [a["id"] for _, a in page.found if "id" in a]

    assert len(data) == 3
    assert options[:3] == [each["name"] for each in data]
    assert len(set(options[:3])) == 3
    assert options[2] == f"{options[0]}~2"
    assert len(ids) == len(set(ids))
    assert {"matrix", "matrix-1", "matrix-2"} <= set(ids)


def test_a_page_of_a_directory_has_all_below(capsys, tmp_path):
    """Several bundles are for a page; other forms are of one."""
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        text = (BUNDLES / "simple_mlp_torch2.13.json").read_text()
        (tmp_path / name / "bundle.json").write_text(text)
    out = tmp_path / "page.html"

    assert ExitCode.OK == main(["report", str(tmp_path), "--html", str(out)])
    assert out.read_bytes().count(b'class="data"') == 2
    assert ExitCode.USAGE == main(["report", str(tmp_path)])
    assert "2 bundles are for a page: add --html FILE" in capsys.readouterr().err


@pytest.mark.parametrize("redaction", list(Redaction))
def test_a_page_says_what_it_shows(redaction):
    """Source of the model, or stand-ins for it."""
    value = evolve(recorded("simple_mlp_torch2.13"), redaction=redaction)
    (warning,) = re.findall(r'class="warning">([^<]*)<', render(value).decode())

    has_source = redaction in {Redaction.NONE, Redaction.PATHS}
    assert has_source == ("contains source of the model" in warning)
    assert (redaction is not Redaction.NONE) == (f"Redacted ({redaction})" in warning)
