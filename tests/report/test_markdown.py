"""The report of a compile."""

from __future__ import annotations

import re

import pytest
from attrs import evolve
from bundle_factory import (
    GOLDENS,
    RECORDED,
    bundle,
    fx,
    handle,
    ir,
    kernel,
    line,
    lines,
    recorded,
    spec,
)
from hypothesis import HealthCheck, given, settings
from strategies import bundles

from torch_spyre_provenance.model import (
    Created,
    Loss,
    Observation,
    PassStep,
    Stage,
)
from torch_spyre_provenance.report.markdown import render

RELU = "aten.relu.default"
HEADINGS = re.compile(r"^## (.*)$", re.MULTILINE)


@pytest.mark.parametrize("name", ["simple_mlp_torch2.11", "plain_weight_torch2.13"])
def test_the_golden_reports(name, update_goldens):
    """The whole report of two recorded models; `make golden` accepts a change."""
    golden = GOLDENS / f"{name}.md"
    text = render(recorded(name))
    if update_goldens:
        golden.write_text(text, encoding="utf-8")
    assert golden.read_text(encoding="utf-8") == text


def test_the_sections_and_their_order():
    """Observations come first, then what the seed's report has."""
    assert HEADINGS.findall(render(recorded("simple_mlp_torch2.13"))) == [
        "Observations",
        "Attribution",
        "Source → Kernel Lineage",
        "Stage \N{MULTIPLICATION SIGN} Field Matrix",
        "Stage 2a — FX Graph (pre-grad): 3 compute nodes",
        "Stage 2b — FX Graph (post-grad): 7 compute nodes",
        "Stage 3 — LoopLevelIR (pre-pass): 5 operations",
        "Stage 4 — LoopLevelIR (post-pass): 5 operations",
        "Stage 5 — OpSpec: 5 ops",
        "Stage 6 — SuperDSC: 5 `sdsc_*.json` files (1 kernel)",
        "`sdsc_fused_addmm_linear_relu_0`",
    ]


@pytest.mark.parametrize("name", RECORDED)
def test_a_report_is_deterministic_and_never_shows_carets(name):
    """The same bundle gives the same text, and a row of carets is no source."""
    value = recorded(name)
    text = render(value)
    assert text == render(value)
    assert "^^" not in text


@settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
@given(bundles())
def test_any_bundle_gives_a_report_of_whole_rows(value):
    """Whatever a bundle holds, tables stay tables and nothing is hidden."""
    text = render(value)
    assert text.replace("\n", "").isprintable()
    width = 0
    for text_row in text.splitlines():
        if not text_row.startswith("| "):
            width = 0
            continue
        n_cells = len(re.findall(r"(?<!\\)\|", text_row))
        assert n_cells == (width or n_cells)
        width = n_cells


def test_hostile_names_are_inert():
    """Scripts, fences, links and escapes are shown as text."""
    evil = (
        "`|</td>```\n## Owned\n<script>alert(1)</script>[x](javascript:1)\x1b[31m\u202e"
    )
    value = bundle(
        stacks=(line(1, evil, file=evil),),
        pre=(fx(evil, evil, evil, stack=0, module=evil),),
        post=(fx(evil, evil, evil, stack=0, aten=evil, module=evil),),
        ir_post=(evolve(ir(0, evil), kernel=evil, type=evil),),
        kernels=(evolve(kernel(spec(0, op=evil)), name=evil, metadata=evil),),
        observations=(Observation(point=evil, stage=None, failed=1, error=evil),),
    )
    text = render(value)
    assert "Owned" not in [heading.strip() for heading in HEADINGS.findall(text)]
    assert text.count("\n```\n") == 1
    without_code = re.sub(r"(`+)(?!`).+?(?<!`)\1(?!`)", "", text)
    assert "<script>" not in without_code
    assert "\x1b" not in text
    assert "\u202e" not in text


def test_observations_tell_failed_from_unavailable():
    """A point that raised, one without a seam, one never reached."""
    text = render(
        bundle(
            pre=None,
            observations=(
                Observation(point="a", stage=Stage.FX_PRE_GRAD, unavailable="no seam"),
                Observation(point="b", stage=None, fired=2, failed=1, error="Boom: x"),
                Observation(point="c", stage=Stage.OP_SPEC),
            ),
        )
    )
    assert "| `a` | FX pre-grad | 0 | 0 | Not observable here: `no seam` |" in text
    assert "| `b` | — | 2 | **1** | Failed: `Boom: x` |" in text
    assert "| `c` | OpSpec | 0 | 0 | Not reached. |" in text
    assert "(pre-grad): not recorded\n\nNot observable here: `no seam`" in text


def test_a_graph_without_the_device_says_why_there_are_no_kernels():
    """The FX stages are there; the rest is explained."""
    value = bundle(ir_post=None, kernels=None)
    value = evolve(value, compile=evolve(value.compile, front_end=None))
    text = render(value)
    assert "has no Spyre tensor, so there are no device kernels" in text
    assert "There are no device ops." in text


def test_a_failed_compile_is_said_on_top():
    """The error stands before everything else."""
    value = bundle()
    value = evolve(value, compile=evolve(value.compile, error="no lowering for x"))
    assert "**The compile failed**: `no lowering for x`" in render(value)


def test_missing_ops_are_listed_with_their_reason():
    """The first screen names what has no line."""
    text = render(bundle(pre=None, post=None, kernels=(kernel(spec(0)),)))
    assert "**0 of 1** device ops have their line" in text
    assert (
        "- `sdsc_fused_0` `0` `add`: `no operation is known to be behind it`\n" in text
    )


def test_differences_from_the_front_ends_handles_are_listed():
    """A handle that names another line is shown beside ours."""
    wrong = handle("relu", "buf0", start_line=9)
    text = render(
        bundle(
            stacks=lines(2),
            post=(fx("relu", RELU, stack=0, aten=RELU),),
            ir_post=(ir(0, "relu"),),
            kernels=(kernel(spec(0, handle=wrong)),),
        )
    )
    assert "same line to 0 ops, another line to 1, and none to 0." in text
    assert (
        "| `add` | `model.py:2` `line 2` | measured (own-stack) | `model.py:9` |\n"
    ) in text


def test_operations_outside_the_device_kernels_have_their_lines_too():
    """A fallback on the host is part of the compile."""
    value = bundle(
        stacks=(line(7, "y = x.cumsum(0)"),),
        post=(fx("cumsum", "aten.cumsum.default", stack=0),),
        ir_post=(ir(0, "cumsum", kernel="aten.cumsum.default"),),
        kernels=(),
    )
    expected = "| `op0` | `aten.cumsum.default` | `model.py:7` `y = x.cumsum(0)` |\n"
    assert expected in render(value)


def test_what_the_passes_did_and_lost_is_shown():
    """A loss names the pass, the operation and the nodes that are gone."""
    step = PassStep(
        name="fuse",
        index=0,
        created=(Created(op="op9", buffer="buf9", origins=(), has_source=False),),
        rebuilt=("op0",),
        losses=(
            Loss(
                op="op0",
                buffer="buf0",
                what="origins",
                before=("a", "b"),
                after=("a",),
            ),
        ),
    )
    text = render(evolve(bundle(ir_post=(ir(0),)), passes=(step,)))
    assert "| `fuse` | `op9` | — | `op0` | **`op0`** `origins`: `b` |" in text
    assert "none made, removed or rebuilt" in render(evolve(bundle(), passes=()))
    assert "### Passes" not in render(bundle())
