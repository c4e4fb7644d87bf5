"""A bundle as a notebook and a program show it."""

from __future__ import annotations

from html.parser import HTMLParser

import pytest
from attrs import evolve
from bundle_factory import RECORDED, bundle, fx, ir, kernel, line, recorded, spec
from hypothesis import HealthCheck, given, settings
from report.many_ops import many_ops
from strategies import bundles

from torch_spyre_provenance.report import markdown

HOSTILE = "</td><script>alert(1)</script>\u202e"


class Tags(HTMLParser):
    """Counts tags, and keeps the text of the cells."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: set[str] = set()
        self.cells: list[str] = []

    def handle_starttag(self, tag, attrs):
        self.seen.add(tag)
        if tag != "br":
            self.open.append(tag)
        if tag == "td":
            self.cells.append("")

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] == "td":
            self.cells[-1] += data


def parsed(value) -> Tags:
    """Read what a notebook would show of a bundle."""
    tags = Tags()
    tags.feed(value._repr_html_())
    tags.close()
    assert tags.open == []
    assert tags.seen <= {"div", "p", "b", "br", "table", "thead", "tbody"} | {
        "tr",
        "th",
        "td",
    }
    return tags


def test_a_cell_shows_each_op_with_its_line():
    """Kernel, op, line, source, module and evidence."""
    cells = parsed(recorded("simple_mlp_torch2.13")).cells

    assert cells[6:12] == [
        "sdsc_fused_addmm_linear_relu_0:1",
        "add",
        "models.py:17",
        "x = self.fc1(x)",
        "fc1",
        "measured (own-stack)",
    ]
    assert len(cells) == 6 * 5


def test_many_ops_are_counted():
    """A cell is no place for a thousand rows."""
    assert parsed(many_ops(1000)).cells[-1] == "… and 940 more"


def test_hostile_names_are_text():
    """Whatever a stranger's bundle is called."""
    value = bundle(
        stacks=(line(1, HOSTILE, file=HOSTILE),),
        post=(fx("p", HOSTILE, stack=0, module=HOSTILE),),
        ir_post=(ir(0, "p"),),
        kernels=(kernel(spec(0, HOSTILE), name=HOSTILE),),
    )

    assert r"</td><script>alert(1)</script>\u202e" in parsed(value).cells


@settings(max_examples=20, deadline=None, suppress_health_check=list(HealthCheck))
@given(bundles())
def test_any_bundle_can_be_shown(value):
    """Tags stay closed, whatever it holds."""
    parsed(value)


@pytest.mark.parametrize("name", RECORDED[:2])
def test_a_bundle_gives_its_report(name):
    """The same as the file beside it."""
    value = recorded(name)

    assert markdown.render(value) == value.to_markdown()


def test_a_bundle_of_nothing_can_be_shown():
    """No op, no row."""
    assert parsed(evolve(bundle(), kernels=())).cells == []
