"""A real torch-spyre checkout, compiled through without a card.

The checkout is named by ``TORCH_SPYRE_CHECKOUT``. Each test is a process of its own: a
process has one `spyre` device.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from torch_spyre_provenance.errors import FrontEndError
from torch_spyre_provenance.frontends import cardless
from torch_spyre_provenance.frontends.cardless import extension

CHECKOUT = os.environ.get("TORCH_SPYRE_CHECKOUT", "")

needs_checkout = pytest.mark.skipif(
    not CHECKOUT, reason="TORCH_SPYRE_CHECKOUT names no torch-spyre checkout"
)

RANDOM = 8
"""Characters that `tempfile` puts at the end of a directory's name."""

LOAD = f"""
    import sys, warnings
    from pathlib import Path
    import torch
    from torch_spyre_provenance.errors import FrontEndError
    from torch_spyre_provenance.frontends import cardless
    front_end = cardless.load(Path({CHECKOUT!r}))
"""

MODEL = """
    torch.manual_seed(0)
    layers = torch.nn.Linear(128, 256), torch.nn.ReLU(), torch.nn.Linear(256, 128)
    model = torch.nn.Sequential(*layers).half().to("spyre")
    x = torch.randn(2, 128, dtype=torch.float16).to("spyre")
    def run(function, *args):
        try:
            with torch.no_grad():
                torch.compile(function, dynamic=False)(*args)
        except FrontEndError as error:
            print("refused:", error)
"""


def run(*parts: str) -> list[str]:
    """Run a program in a process of its own and return the lines it prints."""
    program = "\n".join(textwrap.dedent(part) for part in parts)
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program],
        capture_output=True,
        text=True,
        check=False,
    )
    assert 0 == done.returncode, done.stderr[-2000:]
    return done.stdout.splitlines()


def op_names(cache: Path) -> dict[str, list[str]]:
    """The op of each SDSC file, by the directory of its kernel."""
    names: dict[str, list[str]] = {}
    files = cache.glob("inductor-spyre/*/sdsc_*.json")
    for path in sorted(files, key=lambda p: int(p.stem.split("_")[1])):
        key = next(iter(json.loads(path.read_text())))
        names.setdefault(path.parent.name, []).append(key.split("_", 1)[1])
    return names


def number(directory: str) -> int:
    """A kernel's number: its directory's name ends with it and random characters."""
    return int(re.findall(r"_(\d+)_", directory[:-RANDOM])[-1])


@pytest.mark.torch_spyre
@needs_checkout
def test_a_model_compiles_and_is_not_run(inductor_cache):
    """An MLP becomes SuperDSC files; running it says where they are and why not."""
    (refusal,) = run(LOAD, MODEL, "run(model, x)")
    names = op_names(inductor_cache)
    ops = [name for kernel in sorted(names, key=number) for name in names[kernel]]
    assert ["batchmatmul", "add", "relufwd", "batchmatmul", "add"] == ops
    assert f"the kernel in {inductor_cache}/inductor-spyre/sdsc_fused" in refusal
    for kernel in names:
        assert (inductor_cache / "inductor-spyre" / kernel / "spyreCodeDir").is_dir()


@pytest.mark.torch_spyre
@needs_checkout
def test_attention_takes_torch_spyres_own_route(inductor_cache):
    """Attention of torch becomes the operator that torch-spyre decomposes."""
    program = """
        q = torch.randn(1, 2, 64, 64, dtype=torch.float16).to("spyre")
        mask = torch.ones(64, 64, dtype=torch.bool).to("spyre")
        attend = torch.nn.functional.scaled_dot_product_attention
        run(attend, q, q, q)
        with torch.inference_mode():
            run(attend, q, q, q)
    """
    refusals = run(LOAD, MODEL, program)
    assert 2 == len(refusals)
    assert all("attention_overrideable" in refusal for refusal in refusals)


@pytest.mark.torch_spyre
@needs_checkout
def test_eager_tensors_behave(inductor_cache):
    """What needs no kernel works: moving, viewing, filling, printing, layouts."""
    program = """
        from torch_spyre._C import SpyreTensorLayout as Layout
        get = torch.Tensor.device_tensor_layout
        print(x[0, :3].cpu().shape, x.t().shape, x.view(-1).shape)
        print(torch.zeros(2, dtype=torch.float16, device="spyre"))
        strided = torch.empty_strided((4, 6), (1, 4), device="spyre")
        expected = Layout([4, 6], [1, 4], torch.float32, [0, 1])
        print(get(strided) == expected, get(x.t()) == get(x))
        print(get(model[0].weight))
        x.resize_(2, 64)
        print(get(x) == Layout([2, 64], torch.float16))
        try:
            torch.zeros(2, dtype=torch.float64, device="spyre")
        except RuntimeError as error:
            print(error)
    """
    lines = run(LOAD, MODEL, program)
    assert "torch.Size([3]) torch.Size([128, 2]) torch.Size([256])" == lines[0]
    assert "tensor([0., 0.], dtype=torch.float16, device='spyre:0')" == lines[1]
    assert "True True" == lines[2]
    assert lines[3].startswith(
        "SpyreTensorLayout(device_size=[4, 128, 64], stride_map =[8192, 1, 128]"
    )
    assert "True" == lines[4]
    assert lines[5].startswith("no Spyre tensor of shape (2,) and torch.float64")


@pytest.mark.torch_spyre
@needs_checkout
def test_a_checkout_is_loaded_once():
    """The second load gives the first's front end; another checkout is refused."""
    program = f"""
        print(cardless.load(Path({CHECKOUT!r}, "torch_spyre")) is front_end)
        print(front_end.name, [name for name, _ in front_end.versions])
        del cardless._loaded[Path({CHECKOUT!r})]
        try:
            cardless.load(Path({CHECKOUT!r}))
        except FrontEndError as error:
            print(error)
    """
    first, second, third = run(LOAD, program)
    assert "True" == first
    assert second == (
        "torch-spyre-cardless "
        "['torch-spyre', 'stand-ins', 'dxp_standalone', 'debug_handle']"
    )
    assert "torch_spyre was imported before" in third


@pytest.mark.torch_spyre
@needs_checkout
def test_the_stand_in_has_every_name_that_the_checkout_imports():
    """No module of the checkout imports a name that the stand-in lacks."""
    program = """
        import ast
        needed = set()
        for path in Path(front_end.scheduling.__module__ and
                         sys.modules["torch_spyre"].__file__).parent.rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text())):
                if (isinstance(node, ast.ImportFrom)
                        and node.module in ("torch_spyre._C", "_C")):
                    needed |= {alias.name for alias in node.names}
        print(sorted(needed))
    """
    (needed,) = run(LOAD, program)
    assert set(json.loads(needed.replace("'", '"'))) <= set(extension.__all__)


@pytest.mark.torch_spyre
@needs_checkout
def test_the_device_may_be_taken():
    """Where the reference device is, a checkout is refused and the device stays."""
    program = f"""
        from pathlib import Path
        import torch
        from torch_spyre_provenance.errors import DeviceTakenError
        from torch_spyre_provenance.frontends import cardless
        from torch_spyre_provenance.frontends.host import device
        device.activate()
        try:
            cardless.load(Path({CHECKOUT!r}))
        except DeviceTakenError as error:
            print(error)
        print((torch.ones(2, device="spyre") + 1).tolist())
    """
    first, second = run(program)
    assert "is the reference front end's" in first
    assert "[2.0, 2.0]" == second


def test_a_path_that_is_no_checkout(tmp_path):
    """A directory without the package is refused before anything is changed."""
    before = (list(sys.path), list(sys.meta_path))
    with pytest.raises(FrontEndError, match="is no torch-spyre checkout"):
        cardless.load(tmp_path)
    assert before == (sys.path, sys.meta_path)
