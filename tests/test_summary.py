"""The summary of a bundle."""

from __future__ import annotations

from pathlib import Path

from attrs import evolve

from torch_spyre_provenance.model import (
    Bundle,
    CacheState,
    CompileInfo,
    CompileKind,
    Kernel,
    KernelFiles,
    Observation,
    RunFacts,
    Stage,
)
from torch_spyre_provenance.summary import audit_facts, summary_text

KERNEL = "sdsc_fused_relu_0"
BUNDLE = Bundle(
    compile=CompileInfo(
        graph="0_inference", kind=CompileKind.INFERENCE, front_end="reference"
    ),
    kernels=(Kernel(name=KERNEL, ops=(), ir_ops=("op0",), origins=("relu",)),),
    observations=(
        Observation(point="wrapper.create", stage=Stage.LOOP_IR_PRE, fired=1),
        Observation(
            point="pre_grad_pass",
            stage=Stage.FX_PRE_GRAD,
            unavailable="overruled; use the backend",
        ),
    ),
    run=RunFacts(
        name="0_inference-1-0",
        compile_id="0/0",
        cache=CacheState.MISS,
        time="2026-07-24T12:00:00+00:00",
        host="host",
        pid=1,
        files=(KernelFiles(kernel=KERNEL, directory="/cache/k_1", sdsc=()),),
        observations=(
            Observation(point="wrapper.create", stage=Stage.LOOP_IR_PRE, fired=2),
            Observation(
                point="sdsc", stage=Stage.SUPER_DSC, failed=1, error="OSError: gone"
            ),
        ),
    ),
)


def test_the_text_has_stages_problems_and_paths() -> None:
    """One line per stage, one per problem, one per path."""
    expected = f"""\
0_inference (inference), reference, cache miss

stage                   fired  failed  count
FX pre-grad                 0       0      0
FX post-grad                0       0      0
LoopLevelIR pre-pass        3       0      0
LoopLevelIR post-pass       0       0      0
OpSpec                      0       0      0
SuperDSC                    0       1      0

pre_grad_pass is not observable here: overruled; use the backend
sdsc failed (1): OSError: gone

kernel  {KERNEL}
        /cache/k_1

report  /out/report.md
bundle  /out/bundle.json"""

    assert expected == summary_text(BUNDLE, Path("/out"))


def test_the_facts_are_plain_json_values() -> None:
    """Counts of one point are added up, the first error is kept."""
    expected = {
        "bundle": "/out/bundle.json",
        "report": "/out/report.md",
        "kernel_dirs": ["/cache/k_1"],
        "stages": dict.fromkeys(
            (
                "fx_pre_grad",
                "fx_post_grad",
                "loop_ir_pre",
                "loop_ir_post",
                "op_spec",
                "super_dsc",
            ),
            0,
        ),
        "kernels": [KERNEL],
        "health": {
            "wrapper.create": {
                "stage": "loop_ir_pre",
                "fired": 3,
                "failed": 0,
                "error": None,
                "unavailable": None,
            },
            "pre_grad_pass": {
                "stage": "fx_pre_grad",
                "fired": 0,
                "failed": 0,
                "error": None,
                "unavailable": "overruled; use the backend",
            },
            "sdsc": {
                "stage": "super_dsc",
                "fired": 0,
                "failed": 1,
                "error": "OSError: gone",
                "unavailable": None,
            },
        },
    }

    assert expected == audit_facts(BUNDLE, Path("/out"))


def test_a_failed_compile_is_said_first() -> None:
    """The compile's own error stands before the recorder's."""
    failed = evolve(BUNDLE, compile=evolve(BUNDLE.compile, error="no such op"))
    problems = summary_text(failed, Path("/out")).split("\n\n")[2].splitlines()

    assert problems[0] == "the compile failed: no such op"


def test_a_hostile_name_cannot_drive_the_terminal() -> None:
    """Escape sequences, line breaks and bidi marks are shown, not sent."""
    kernel = Kernel(name="\x1b[2J\n\u202egnp", ops=(), ir_ops=(), origins=())
    text = summary_text(evolve(BUNDLE, kernels=(kernel,)), Path("/out"))

    assert r"kernel  \u001b[2J\n\u202egnp" in text.splitlines()
