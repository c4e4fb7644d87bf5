"""Names that try to be more than text, in every output, and in a real browser."""

from __future__ import annotations

import os
import re
import shutil
import unicodedata
from pathlib import Path
from typing import get_args, get_type_hints

import pytest
from attrs import evolve, fields, has
from bundle_factory import recorded

from torch_spyre_provenance.analysis.attribution import Attributor
from torch_spyre_provenance.analysis.merging import merge
from torch_spyre_provenance.analysis.verification import verify
from torch_spyre_provenance.report import html, markdown, mermaid
from torch_spyre_provenance.report.findings import findings_text
from torch_spyre_provenance.report.jobs import jobs_text
from torch_spyre_provenance.store import codec
from torch_spyre_provenance.summary import summary_text

TAKEN = "document.title='taken'"
CORPUS = (
    f"</script><script>{TAKEN}</script>",
    f'<img src=x onerror="{TAKEN}">',
    f"<svg/onload={TAKEN}>",
    f"javascript:{TAKEN}",
    f'"><iframe srcdoc="<script>parent.{TAKEN}</script>">',
    "<style>*{display:none}</style>",
    "<base href='https://example.org/'>",
    "<meta http-equiv=refresh content='0;url=https://example.org/'>",
    "<!--", "-->", "]]>", "&lt;b&gt;", "{{ 7 * 7 }}", "{% raw %}", "${7*7}",
    "\u2028\u2029", "\x00\x07\x08\x1b[2J\x1b]8;;https://example.org\x07",
    "\x9b31m", "\r\nHTTP/1.1 200 OK",
    "\u202ecod.exe\u2066\u2069\u200f", "e\u0301" * 40, "\ufeff\u200b\u00ad",
    "```\n# heading\n```", "~~~", "| a | b |\n|---|---|", "[x](https://example.org)",
    "![x](https://example.org/x.png)", "<details open>", "\\", "`" * 30,
    'x"]; A --> B["y', "graph TD; click A 'https://example.org'", "%%{init: {}}%%",
    "\ud800", "\udcff",
)  # fmt: skip
SHOWN = frozenset({"\n", " "})
HIDDEN = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})


def hostile(value, texts):
    """Return a value of the model with something hostile behind each of its texts."""
    changes = {}
    types = get_type_hints(type(value))
    for each in fields(type(value)):
        old, kind = getattr(value, each.name), types[each.name]
        if kind is str or (str in get_args(kind) and old is not None):
            is_many = isinstance(old, tuple)
            changes[each.name] = tuple(old) if is_many else f"{old}{next(texts)}"
        elif isinstance(old, tuple) and old and has(type(old[0])):
            changes[each.name] = tuple(hostile(item, texts) for item in old)
        elif has(type(old)):
            changes[each.name] = hostile(old, texts)
    return evolve(value, **changes)


def endless():
    """Yield the corpus again and again."""
    while True:
        yield from CORPUS


@pytest.fixture(scope="module")
def taken():
    """A recorded bundle whose every text ends in something hostile."""
    value = hostile(recorded("attention_torch2.13"), endless())
    assert value == codec.loads(codec.dumps(value))
    return value


@pytest.fixture(scope="module")
def printed(taken):
    """Everything that is printed or written as text, by name."""
    facts = Attributor(taken)
    return {
        "markdown": markdown.render_facts(facts),
        "mermaid": mermaid.render_facts(facts),
        "summary": summary_text(taken, Path("/out")),
        "findings": findings_text(Path("/out"), verify(taken)),
        "jobs": jobs_text(merge([("/a", taken), ("/b", recorded("twice_torch2.13"))])),
    }


@pytest.mark.parametrize("name", ["markdown", "mermaid", "summary", "findings", "jobs"])
def test_no_hidden_character_is_printed(printed, name):
    """Terminal escapes, direction marks and line breaks show as escapes."""
    found = {
        char
        for char in printed[name]
        if char not in SHOWN and unicodedata.category(char) in HIDDEN
    }
    assert set() == found


def test_markup_stays_inside_code_in_markdown(printed):
    """Outside of code spans no row has an element, a link or an image of the corpus."""
    span = re.compile(r"(?<!`)(`+)(?!`)(.*?)(?<!`)\1(?!`)")
    text = printed["markdown"]
    outside = "\n".join(span.sub("", row) for row in text.splitlines())
    fenced = re.sub(
        r"^```mermaid\n.*?^```$", "", outside, flags=re.DOTALL | re.MULTILINE
    )
    for piece in (
        "<script",
        "<img",
        "<svg",
        "<iframe",
        "](http",
        "# heading",
        "<style",
    ):
        assert piece not in fenced


def test_labels_stay_inside_their_quotes_in_mermaid(printed):
    """No label opens a node, a click or a directive of its own."""
    for row in printed["mermaid"].splitlines():
        assert row.count('"') % 2 == 0
        labels = re.findall(r'"([^"]*)"', row)
        rest = re.sub(r'"[^"]*"', '""', row)
        assert not re.match(r"\s*(?:click|style|%%)", rest)
        assert not any("<" in label.replace("<br", "") for label in labels)


def test_data_in_the_page_ends_no_script(taken):
    """The page's own two scripts are the only ones."""
    page = html.render(taken).decode()
    assert 2 == page.count("<script")
    assert 2 == page.count("</script>")


def without(what):
    """Skip, or fail where a continuous build must not skip."""
    message = f"the page is not tested: there is no {what}"
    if os.environ.get("CI") == "true":
        pytest.fail(message)
    pytest.skip(message)


@pytest.fixture(scope="module")
def page(taken, tmp_path_factory):
    """The page, open in Debian's chromium, and everything that it asked for."""
    try:
        from playwright.sync_api import sync_playwright
    except ModuleNotFoundError:
        without("playwright")
    chromium = shutil.which("chromium")
    if chromium is None:
        without("chromium")
    file = tmp_path_factory.mktemp("page") / "page.html"
    file.write_bytes(html.render(taken))
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=chromium, args=["--no-sandbox", "--disable-gpu"]
        )
        tab = browser.new_page()
        asked, said = [], []
        tab.on("request", lambda request: asked.append(request.url))
        tab.on("console", lambda message: said.append(message.text))
        tab.on("pageerror", lambda error: said.append(str(error)))
        tab.on("dialog", lambda dialog: said.append(dialog.message))
        tab.goto(file.as_uri())
        tab.wait_for_selector("html[data-ready]", state="attached")
        yield tab, asked, said
        browser.close()


def test_the_corpus_is_inert_in_a_browser(page):
    """Nothing is run, nothing is fetched, no element of the corpus exists."""
    tab, asked, said = page
    for column in tab.locator(".column").all():
        rows = column.locator('.row:not([aria-disabled="true"])')
        if rows.count():
            rows.first.click()
    assert "taken" != tab.title()
    assert 1 == len(asked)
    assert [] == said
    elements = (
        "iframe, img, base, meta[http-equiv=refresh], svg[onload], details[open] b"
    )
    assert 0 == tab.locator(elements).count()
    assert 2 == tab.locator("script").count()


def test_the_corpus_is_shown(page, taken):
    """Inert does not mean lost: the texts are there to be read."""
    tab, _, _ = page
    shown = tab.evaluate("document.body.innerText")
    assert "onerror" in shown
