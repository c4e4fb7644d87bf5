"""Whose code a frame is, and which frame stands for a stack."""

from __future__ import annotations

from tempfile import gettempdir

import pytest

from torch_spyre_provenance.analysis.frames import (
    POLICY,
    FramePolicy,
    Owner,
    source_text,
)
from torch_spyre_provenance.model import Frame

SITE = "/home/u/venv/lib/python3.11/site-packages"


def stack(*files: str) -> tuple[Frame, ...]:
    """Return a stack through these files; the line is the depth."""
    return tuple(Frame(file=f, line=n, function="f") for n, f in enumerate(files, 1))


@pytest.mark.parametrize(
    "file",
    [
        "/home/u/model.py",
        "/home/u/torch/model.py",
        "/home/u/torch/nn/my_layers.py",
        "/home/u/torch_spyre/model.py",
        "/home/u/torch_spyre_provenance/model.py",
        "/home/u/site_packages/model.py",
        "model.py",
        "torch/model.py",
        "C:\\Users\\u\\model.py",
        "<ipython-input-3-0a1b2c3d4e5f>",
        f"{gettempdir()}/ipykernel_1234/567890.py",
        "<string>",
        "<stdin>",
        f"{SITE}/torch_spyre_provenance/simple_mlp.py",
        "/home/u/src/torch_spyre_provenance/simple_mlp.py",
    ],
)
def test_the_users_files(file):
    """Directories called torch, notebook cells and exec'd code are the user's."""
    assert POLICY.owner(file) is Owner.USER


@pytest.mark.parametrize(
    "file",
    [
        f"{SITE}/transformers/models/llama/modeling_llama.py",
        f"{SITE}/torchvision/models/resnet.py",
        "/usr/lib/python3/dist-packages/numpy/core/numeric.py",
        "/usr/lib/python3.12/contextlib.py",
        "<frozen importlib._bootstrap>",
    ],
)
def test_the_libraries_files(file):
    """Installed packages and Python itself are libraries."""
    assert POLICY.owner(file) is Owner.LIBRARY


@pytest.mark.parametrize(
    "file",
    [
        f"{SITE}/torch/nn/modules/linear.py",
        f"{SITE}/torch_spyre/_inductor/passes.py",
        f"{SITE}/torch_spyre_provenance/recording/wrapper.py",
        "/home/u/pytorch/torch/_dynamo/eval_frame.py",
        "/home/u/pytorch/torch/nn/modules/module.py",
        "/home/u/torch-spyre/torch_spyre/_inductor/lowering.py",
        "C:\\venv\\Lib\\site-packages\\torch\\nn\\functional.py",
        "<eval_with_key>.7",
        f"{gettempdir()}/torchinductor_u/ab/cab.py",
    ],
)
def test_the_frameworks_files(file):
    """PyTorch, torch-spyre and this package are told apart from user directories."""
    assert POLICY.owner(file) is Owner.FRAMEWORK


def test_the_innermost_user_frame_stands_for_a_stack():
    """A helper of the user's counts more than its caller, a library's not at all."""
    found = POLICY.headline(
        stack("/u/train.py", "/u/model.py", f"{SITE}/einops/e.py", f"{SITE}/torch/a.py")
    )
    assert found is not None
    assert found.where == "/u/model.py:2"


def test_a_library_frame_stands_in_where_the_user_has_none():
    """A model that is all library code still has a line, the innermost."""
    found = POLICY.headline(
        stack(f"{SITE}/torch/a.py", f"{SITE}/hf/a.py", f"{SITE}/hf/b.py")
    )
    assert found is not None
    assert found.where == f"{SITE}/hf/b.py:3"


def test_framework_frames_alone_stand_for_nothing():
    """A line inside torch is no answer."""
    assert POLICY.headline(stack(f"{SITE}/torch/a.py", "<eval_with_key>.1")) is None
    assert POLICY.headline(()) is None


def test_the_policy_is_data():
    """Another table gives another answer."""
    policy = FramePolicy(framework=("/vendor/",), user=("/vendor/models/",))
    assert policy.owner("/vendor/a.py") is Owner.FRAMEWORK
    assert policy.owner("/vendor/models/a.py") is Owner.USER
    assert policy.owner(f"{SITE}/torch/a.py") is Owner.USER


@pytest.mark.parametrize(
    ("quoted", "expected"),
    [
        ("  x = f(x)", "x = f(x)"),
        ("    ^^^^^", None),
        ("~~~~^^^^", None),
        ("", None),
        (None, None),
        ("x ^ y", "x ^ y"),
    ],
)
def test_a_row_of_carets_is_no_source_text(quoted, expected):
    """Python 3.11 and later mark the expression below the line."""
    assert source_text(Frame(file="m.py", line=1, text=quoted)) == expected
