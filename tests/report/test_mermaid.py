"""The lineage as a chart that Mermaid can draw."""

from __future__ import annotations

import re

from attrs import evolve
from bundle_factory import bundle, fx, ir, line, lines, recorded
from hypothesis import HealthCheck, given, settings
from strategies import bundles

from torch_spyre_provenance.analysis.attribution import Attributor
from torch_spyre_provenance.analysis.lineage import build_lineage
from torch_spyre_provenance.model import Bundle
from torch_spyre_provenance.report import mermaid
from torch_spyre_provenance.report.escape import ShortPaths

RELU = "aten.relu.default"
LINE = re.compile(
    r"flowchart LR|  end|  %% \d+ of \d+ edges"
    r'|  subgraph [a-z]+_sg\["[\w -]+"\]'
    r'|    \w+\["(?:[\w .,:/·=+*@(){}\[\]-]|#\d+;)*"\]'
    r"|  \w+ -\.?-?> \w+",
    re.ASCII,
)


def chart(value: Bundle) -> list[str]:
    """Return the rows of a bundle's chart."""
    lineage = build_lineage(Attributor(value))
    return mermaid.render(lineage, ShortPaths(value)).splitlines()


def test_the_chart_of_the_seeds_example():
    """Identifiers, labels and edges are those of the published lineage."""
    rows = chart(recorded("simple_mlp_torch2.13"))
    for expected in (
        "flowchart LR",
        '  subgraph src_sg["Source"]',
        '    src_models_py_17["models.py:17 · x = self.fc1(x)"]',
        '    pg_x["x · linear"]',
        '    post_mm_default_1["mm_default_1"]',
        '    lpre_op0["op0"]',
        '    ops_op0["op0 · batchmatmul"]',
        "  src_models_py_17 --> pg_x",
        "  pg_x --> post_mm_default_1",
        "  pg_x --> post_add_tensor_1",
        "  post_permute --> lpre_op0",
        "  lpre_op0 --> lpost_op0",
        "  lpost_op0 --> ops_op0",
        "  ops_op0 --> sd_sdsc_fused_addmm_linear_relu_0",
    ):
        assert expected in rows


def test_an_inferred_edge_is_dotted():
    """Without what the hooks saw, the product's call is a conclusion."""
    value = evolve(recorded("simple_mlp_torch2.13"), replacements=())
    rows = chart(value)
    assert "  pg_x -.-> post_mm_default_1" in rows
    assert "  pg_x --> post_add_tensor_1" in rows


@settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
@given(bundles())
def test_any_bundle_gives_a_well_formed_chart(value):
    """Whatever names a bundle holds, each row is one that Mermaid reads."""
    assert [row for row in chart(value) if not LINE.fullmatch(row)] == []


def test_names_that_look_alike_stay_apart():
    """``a.b`` and ``a_b`` are two nodes with two identifiers."""
    rows = chart(
        bundle(
            stacks=lines(1),
            pre=(fx("a.b", "relu", stack=0), fx("a_b", "relu", stack=0)),
        )
    )
    assert '    pg_a_b["a.b · relu"]' in rows
    assert '    pg_a_b__2["a_b · relu"]' in rows


def test_two_lines_with_one_text_are_two_sources():
    """A source is a file and a line; the text is only shown."""
    rows = chart(
        bundle(
            stacks=(line(1, "x = f(x)"), line(2, "x = f(x)")),
            pre=(fx("x", "relu", stack=0), fx("y", "relu", stack=1)),
        )
    )
    assert [row for row in rows if "src_model_py" in row] == [
        '    src_model_py_1["model.py:1 · x = f(x)"]',
        '    src_model_py_2["model.py:2 · x = f(x)"]',
        "  src_model_py_1 --> pg_x",
        "  src_model_py_2 --> pg_y",
    ]


def test_a_chart_stays_within_what_mermaid_draws():
    """A large graph shows the first ops whole and says how much it leaves out."""
    n = 500
    value = bundle(
        stacks=lines(*range(n)),
        pre=tuple(fx(f"c_{i}", "relu", stack=i) for i in range(n)),
        post=tuple(
            fx(f"x_{i}", RELU, stack=i, aten=RELU, came_from=(f"c_{i}",))
            for i in range(n)
        ),
        ir_post=tuple(ir(i, f"x_{i}") for i in range(n)),
    )
    rows = chart(value)
    edges = [row for row in rows if "-->" in row]
    assert rows[1] == f"  %% {len(edges)} of {6 * n} edges"
    assert mermaid.MAX_EDGES - 6 < len(edges) <= mermaid.MAX_EDGES
    drawn = {row.split()[0] for row in edges} | {row.split()[2] for row in edges}
    assert {name for name in drawn if name.startswith("ops_")} == {
        f"ops_op{i}" for i in range(len(edges) // 6)
    }
