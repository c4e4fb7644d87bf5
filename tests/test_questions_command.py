"""The commands that read bundles: their answers, exit codes, and what they cost."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from bundle_factory import BUNDLES

from torch_spyre_provenance.cli import ExitCode, main

MLP = BUNDLES / "simple_mlp_torch2.13.json"
OLDER = BUNDLES / "simple_mlp_torch2.11.json"
KERNEL = "sdsc_fused_addmm_linear_relu_0"


def run(capsys: pytest.CaptureFixture[str], *arguments: str | Path):
    """Run the command; return code, output and errors."""
    code = main([str(argument) for argument in arguments])
    return (code, *capsys.readouterr())


def test_a_line_leads_to_kernels_ops_and_files(capsys):
    """From the line of a slow model to what runs on the device."""
    assert run(capsys, "show", MLP, "models.py:17") == (
        ExitCode.OK,
        f"""\
line models.py:17: 2 ops in 1 kernel

kernel  {KERNEL}
        /cache/inductor-spyre/kernel_0
  0     batchmatmul     measured  sdsc_0.json     models.py:17  x = self.fc1(x)
  1     add             measured  sdsc_1.json     models.py:17  x = self.fc1(x)
""",
        "",
    )


def test_an_op_leads_to_its_line_module_and_file(capsys):
    """From a slow kernel's op to the line of the model, with the evidence."""
    code, output, _ = run(capsys, "show", MLP, f"{KERNEL}:3")
    rows = dict(row.split(None, 1) for row in output.splitlines()[2:])

    assert code == ExitCode.OK
    assert rows["line"] == "/models/models.py:19  return self.fc2(x)"
    assert rows["evidence"] == "measured (replaced)"
    assert rows["module"] == "fc2 (torch.nn.modules.linear.Linear)"
    assert rows["sdsc"] == "/cache/inductor-spyre/kernel_0/sdsc_3.json  (handle: own)"


def test_answers_are_json_on_request(capsys):
    """The same, for programs."""
    _, output, _ = run(capsys, "show", MLP, "fc2", "--json")
    facts = json.loads(output)

    assert (facts["subject"], facts["kernels"]) == ("module", [KERNEL])
    assert [op["locations"][0]["line"] for op in facts["ops"]] == [19, 19]


def test_the_summary_is_json_on_request(capsys):
    """Without a question, the object is the one that an audit prints."""
    _, output, _ = run(capsys, "show", MLP, "--json")

    assert json.loads(output)["kernels"] == [KERNEL]


MISSED = (
    "spyre-provenance: the bundle has no 'models.py:16'; "
    "near: models.py:17, models.py:18, models.py:19 [not-found]\n"
)


def test_what_is_not_there_is_one_line(capsys):
    """Exit code 1, the slug, and the lines around."""
    assert run(capsys, "show", MLP, "models.py:16") == (
        ExitCode.ERROR,
        "",
        MISSED,
    )


@pytest.mark.parametrize(
    ("form", "start"),
    [
        ("md", "# Source-to-Kernel Provenance: "),
        ("text", "0_inference (inference), reference, cache miss\n"),
        ("mermaid", "flowchart LR\n  subgraph src_sg"),
        ("json", '{\n  "schema_version": 1,'),
        ("mlir", '#stack0 = loc("forward"('),
    ],
)
def test_a_report_has_several_forms(capsys, form: str, start: str):
    """Markdown is the one that is printed by default."""
    code, output, errors = run(capsys, "report", MLP, "--format", form)

    assert (code, errors, output[: len(start)]) == (ExitCode.OK, "", start)


def test_json_is_an_option_everywhere(capsys):
    """For a report it is the same as its format."""
    code, output, _ = run(capsys, "report", MLP, "--json")

    assert (code, output) == run(capsys, "report", MLP, "--format", "json")[:2]


def test_the_json_report_has_each_op(capsys):
    """Counts, the attribution of each op, and the matrix."""
    _, output, _ = run(capsys, "report", MLP, "--format", "json")
    facts = json.loads(output)

    assert facts["stages"]["op_spec"] == len(facts["ops"]) == 5
    assert facts["attribution"]["measured"] == 5
    assert facts["ops"][2]["locations"][0]["line"] == 18
    assert {row["field"]: row["cells"]["op_spec"]["n"] for row in facts["matrix"]}[
        "debug_handle"
    ] == 5


def test_a_difference_is_told(capsys):
    """Two releases of torch: other fields, and another rule for the two additions."""
    code, output, _ = run(capsys, "diff", OLDER, MLP, "--fail")

    assert code == ExitCode.OK
    assert (
        output
        == f"""\
  field    stack_trace at FX post-grad: ◐ 3/7 -> ◐ 5/7
  field    nn_module_stack at FX post-grad: ◐ 2/7 -> ◐ 4/7
  field    source_fn_stack at FX post-grad: ◐ 3/7 -> ◐ 5/7
  field    from_node at FX post-grad: ◐ 3/7 -> ◐ 5/7
  field    get_stack_traces at LoopLevelIR pre-pass: ◐ 3/5 -> ✓
  field    get_stack_traces at LoopLevelIR post-pass: ◐ 3/5 -> ✓
  evidence {KERNEL}:1 add  measured (replaced) -> measured (own-stack)
  evidence {KERNEL}:4 add  measured (replaced) -> measured (own-stack)
"""
    )


@pytest.fixture
def worse(tmp_path: Path) -> Path:
    """A bundle whose operations have lost their origins."""
    content = json.loads(MLP.read_text())
    for op in content["loop_ir_post"]["ops"]:
        op["origins"] = []
    path = tmp_path / "bundle.json"
    path.write_text(json.dumps(content))
    return path


@pytest.mark.parametrize(
    ("options", "expected"), [((), ExitCode.OK), (("--fail",), ExitCode.VERDICT)]
)
def test_a_regression_fails_on_request(capsys, worse: Path, options, expected):
    """With --fail the verdict is the exit code; the lines are marked in any case."""
    code, output, _ = run(capsys, "diff", MLP, worse, *options)

    assert code == expected
    assert output.splitlines()[-1] == "regression: see the lines that begin with !"
    assert f"! evidence {KERNEL}:2 relufwd  measured (" in output


def test_a_difference_is_json_on_request(capsys, worse: Path):
    """The same, for programs."""
    _, output, _ = run(capsys, "diff", MLP, worse, "--json")
    facts = json.loads(output)

    assert (facts["empty"], facts["regression"]) == (False, True)
    assert [pair["after"]["evidence"] for pair in facts["evidence"]] == ["missing"] * 5


def test_questions_are_answered_without_torch():
    """No reader waits for torch."""
    code = (
        "import sys\n"
        "from torch_spyre_provenance.cli import main\n"
        f"main(['show', {str(MLP)!r}, 'fc1'])\n"
        f"main(['diff', {str(OLDER)!r}, {str(MLP)!r}])\n"
        f"main(['report', {str(MLP)!r}, '--format', 'json'])\n"
        "print('torch' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True
    )

    assert done.stdout.splitlines()[-1] == "False"
