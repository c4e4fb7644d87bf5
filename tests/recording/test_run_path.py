"""Nothing differs where a compiled model runs, whether it was recorded or not."""

from __future__ import annotations

import re
import sys
import types
from pathlib import Path

import pytest
import torch
from torch._inductor.codecache import PyCodeCache
from torch._inductor.utils import fresh_cache
from torch.profiler import ProfilerActivity, profile

from torch_spyre_provenance import record
from torch_spyre_provenance.frontends import reference

OURS = re.compile(
    r"^(from torch_spyre_provenance\.recording\.runtime import recorded"
    r"|async_compile = recorded\(async_compile\)"
    r"|async_compile\.provenance\('[A-Za-z0-9+/=]*'\))$\n",
    re.MULTILINE,
)
"""The lines of a generated module that recording adds; all are in its header."""


def model(x, w):
    """Return a product, an activation and a sum."""
    return torch.relu(x @ w).sum(-1) + 1


def inputs():
    """Return the same inputs each time."""
    return torch.ones(64, 64).to("spyre"), torch.full((64, 64), 0.5).to("spyre")


class Built:
    """A compiled model, its generated code and the module that runs."""

    def __init__(self):
        # A copy with a code object of its own: Dynamo keeps what it compiled there.
        function = types.FunctionType(model.__code__.replace(), globals())
        known = set(PyCodeCache.modules)
        self.compiled = torch.compile(function, dynamic=False)
        self.result = self.compiled(*inputs())
        (self.module,) = (each for each in PyCodeCache.modules if each not in known)
        self.code = Path(self.module.__file__).read_text()

    def run(self):
        """Call it once more."""
        return self.compiled(*inputs())


@pytest.fixture(scope="module")
def pair(tmp_path_factory):
    """Compile the same model without a recording and with one."""
    reference.register()
    built = []
    with fresh_cache():
        built.append(Built())
    with fresh_cache(), record(out=tmp_path_factory.mktemp("out"), strict=True):
        built.append(Built())
        yield built


def test_generated_code_is_the_same_but_for_our_header(pair):
    """Three lines of the header are ours; every other byte is as without us."""
    off, on = pair

    assert 0 == len(OURS.findall(off.code))
    assert 3 == len(OURS.findall(on.code))
    assert _without_number(off.code) == _without_number(OURS.sub("", on.code))


def test_bytecode_of_a_call_is_the_same(pair):
    """What is executed with each call is equal, instruction by instruction."""
    off, on = (_call_code(built.module) for built in pair)

    assert off.co_code == on.co_code
    assert off.co_names == on.co_names
    assert off.co_varnames == on.co_varnames
    assert _constants(off) == _constants(on)


def test_kernels_are_run_by_the_same_class(pair):
    """A kernel's runner is the front end's own, with nothing of ours around it."""
    off, on = (
        {
            name: type(value)
            for name, value in vars(built.module).items()
            if name.startswith("sdsc_")
        }
        for built in pair
    )

    assert off == on
    assert off
    assert all("recording" not in kind.__module__ for kind in off.values())


def test_no_function_of_the_recorder_runs(pair):
    """The recorded model enters no code of `recording`, and the same other code."""
    off, on = (_entered(built) for built in pair)

    assert "generated.call" in off
    assert off == on
    assert [] == [name for name in on if "torch_spyre_provenance.recording" in name]


@pytest.mark.filterwarnings("ignore:Warning. Profiler clears events")
def test_profiler_sees_the_same(pair):
    """Under the profiler a call has the same events, off and on."""
    off, on = (_events(built) for built in pair)

    assert off
    assert off == on


def test_results_are_the_same(pair):
    """And so has the result."""
    off, on = pair

    assert torch.equal(off.result.cpu(), on.result.cpu())


def _without_number(code: str) -> str:
    """Return code without the number that each graph of a process has."""
    return re.sub(r"# AOT ID: .*", "", code)


def _call_code(module: types.ModuleType) -> types.CodeType:
    runner = getattr(module, "call", None)
    function = getattr(runner, "__func__", runner)
    return function.__code__


def _constants(code: types.CodeType) -> tuple[object, ...]:
    return tuple(
        each for each in code.co_consts if not isinstance(each, types.CodeType)
    )


def _entered(built: Built) -> list[str]:
    """Return every Python function that the generated code enters, in order.

    What is around it is torch's own, and differs with what its caches answer.
    """
    built.run()
    entered: list[str] = []
    within: list[types.FrameType] = []

    def note(frame, event, _):
        is_generated = frame.f_code.co_filename == built.module.__file__
        if event == "call" and (within or is_generated):
            within.append(frame)
            where = "generated" if is_generated else frame.f_globals["__name__"]
            entered.append(f"{where}.{frame.f_code.co_name}")
        elif event == "return" and within and frame is within[-1]:
            within.pop()

    sys.setprofile(note)
    try:
        built.run()
    finally:
        sys.setprofile(None)
    return entered


def _events(built: Built) -> list[str]:
    built.run()
    with profile(activities=[ProfilerActivity.CPU]) as profiled:
        built.run()
    # Regions are numbered, as compiles are; a graph is called by its cache key.
    names = (re.sub(r"Region: \d+/\d+", "Region", e.name) for e in profiled.events())
    return [re.sub(r"CompiledFxGraph \w+", "CompiledFxGraph", name) for name in names]
