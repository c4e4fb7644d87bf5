"""Whose line an op gets: helpers, libraries, notebooks, and odd places for files."""

from __future__ import annotations

import hashlib
import linecache
import textwrap
from tempfile import gettempdir

import pytest
import torch
from scenarios.compiling import half, load_program, op_lines

from torch_spyre_provenance.analysis.attribution import Attributor, attribute
from torch_spyre_provenance.model import Evidence
from torch_spyre_provenance.store.codec import dumps, loads

LIBRARY = """
import torch


def scaled(x):
    return torch.exp(x) * 2.0


class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.proj = torch.nn.Linear(64, 64)

    def forward(self, x):
        return scaled(self.proj(x))
"""

SCRIPT = """
import torch
from lib_of_blocks import Block


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.block = Block()

    def forward(self, x):
        x = torch.relu(x)  # own
        return self.block(x)  # caller
"""


def frames(found) -> list[str]:
    """Return the functions of an op's first stack, outermost first."""
    return [frame.function for frame in found.locations[0].stack]


def test_helper_has_its_own_line_and_its_caller_in_the_stack(record_one):
    """An op inside a helper is the helper's, and names its caller (tritonparse#435)."""

    def helper(x):
        return torch.exp(x)  # helper

    def model(x):
        return torch.relu(helper(x))  # caller

    bundle = record_one(model, half(4, 64))

    assert [("exp", ["helper"]), ("relufwd", ["caller"])] == op_lines(bundle)
    assert [["model", "helper"], ["model"]] == [
        frames(found) for found in attribute(bundle)
    ]


def test_library_is_charged_to_the_line_that_calls_it(
    record_one, tmp_path, monkeypatch
):
    """An op in ``site-packages`` has the user's line; the library's stays in the stack.

    A model's lines would else all point into somebody's modules (pytorch#151851).
    """
    site = tmp_path / "venv" / "lib" / "python3.11" / "site-packages"
    load_program(site / "lib_of_blocks.py", LIBRARY)
    monkeypatch.syspath_prepend(str(site))
    script = load_program(tmp_path / "app" / "train.py", SCRIPT)

    bundle = record_one(script.Model().half().to("spyre"), half(4, 64))

    assert [
        ("relufwd", ["own"]),
        ("batchmatmul", ["caller"]),
        ("add", ["caller"]),
        ("exp", ["caller"]),
        ("mul", ["caller"]),
    ] == op_lines(bundle)
    found = attribute(bundle)
    assert ["forward", "forward", "scaled"] == frames(found[3])
    assert "lib_of_blocks.py" in found[3].locations[0].stack[-1].file
    assert "block.proj" == found[1].module_path


def test_frames_of_torch_are_never_the_line(record_one):
    """What ``torch.nn`` computes has the line of who called it (pytorch#130861)."""

    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.norm = torch.nn.LayerNorm(64)
            self.act = torch.nn.GELU()

        def forward(self, x):
            x = self.norm(x)  # norm
            x = self.act(x)  # act
            return torch.nn.functional.softmax(x, dim=-1)  # softmax

    bundle = record_one(Model().half().to("spyre"), half(4, 64))

    lines = [tuple(names) for _, names in op_lines(bundle)]
    assert ["norm", "act", "softmax"] == [name for (name,) in dict.fromkeys(lines)]


def test_users_directory_called_torch_is_the_users(record_one, tmp_path):
    """A checkout below a directory named ``torch`` is no part of the framework."""
    program = load_program(
        tmp_path / "torch" / "models" / "net.py",
        "import torch\n\n\ndef model(x):\n    return torch.exp(x)  # mine\n",
    )

    bundle = record_one(program.model, half(4, 64))

    assert [("exp", ["mine"])] == op_lines(bundle)


@pytest.mark.parametrize(
    "name",
    [
        "<ipython-input-3-0a1b2c3d4e5f>",
        f"{gettempdir()}/ipykernel_7/123.py",
        "<generated>",
    ],
)
def test_cell_of_a_notebook_is_a_file(record_one, name):
    """A cell's lines are quoted, and kept: there is no file to look them up in."""
    source = (
        "def cell(x):\n    y = torch.exp(x)  # in\n    return torch.relu(y)  # out\n"
    )
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    scope = {"torch": torch}
    exec(compile(source, name, "exec"), scope)  # noqa: S102  as a notebook does

    bundle = record_one(scope["cell"], half(4, 64))
    del linecache.cache[name]

    assert [f"{name}:2", f"{name}:3"] == [
        found.locations[0].where for found in attribute(bundle)
    ]
    (kept,) = [file for file in bundle.sources if file.path == name]
    assert source.splitlines() == [line.text for line in kept.lines]


def test_code_from_a_string_has_the_line_of_its_caller(record_one):
    """``exec`` names its code ``<string>``, which Dynamo leaves out of its traces."""
    scope = {"torch": torch}
    exec("def made(x):\n    return torch.exp(x)\n", scope)  # noqa: S102

    def model(x):
        return torch.relu(scope["made"](x))  # caller

    bundle = record_one(model, half(4, 64))

    assert [("exp", ["caller"]), ("relufwd", ["caller"])] == op_lines(bundle)


def test_code_from_a_string_alone_says_why_it_has_no_line(record_one):
    """With no caller either, the op is missing: with the call and the reason."""
    scope = {"torch": torch}
    exec("def made(x):\n    y = torch.exp(x)\n    return y\n", scope)  # noqa: S102

    (found,) = attribute(record_one(scope["made"], half(4, 64)))

    assert (Evidence.MISSING, ()) == (found.evidence, found.locations)
    assert found.reason.startswith("Dynamo's graph has no line for y: ")


def test_lambda_has_its_own_line(record_one):
    """A lambda is a function like any other."""
    square = lambda x: x * x  # noqa: E731  # lambda

    def model(x):
        return torch.relu(square(x))  # caller

    bundle = record_one(model, half(4, 64))

    assert [("mul", ["lambda"]), ("relufwd", ["caller"])] == op_lines(bundle)
    assert ["model", "<lambda>"] == frames(attribute(bundle)[0])


def test_decorator_does_not_take_the_lines_of_what_it_wraps(record_one, tmp_path):
    """The wrapped function keeps its lines, and the wrapper's own ops have theirs."""
    program = load_program(
        tmp_path / "decorated.py",
        textwrap.dedent(
            """
            import functools
            import torch


            def doubled(function):
                @functools.wraps(function)
                def wrapper(x):
                    return function(x) + function(x * 3.0)  # wrapper
                return wrapper


            @doubled
            def model(x):
                return torch.exp(x)  # wrapped
            """
        ),
    )

    bundle = record_one(program.model, half(4, 64))

    assert [
        ("exp", ["wrapped"]),
        ("mul", ["wrapper"]),
        ("exp", ["wrapped"]),
        ("add", ["wrapper"]),
    ] == op_lines(bundle)
    assert {"wrapper"} == {frames(found)[0] for found in attribute(bundle)}


def test_bundle_reads_the_same_where_the_sources_are_gone(record_one, tmp_path):
    """Lines are quoted from the bundle, on any machine (iree#15699, iree#16781)."""
    path = tmp_path / "gone.py"
    text = "import torch\n\n\ndef model(x):\n    return torch.exp(\n        x\n    )\n"
    bundle = record_one(load_program(path, text).model, half(4, 64))
    before = attribute(bundle)
    path.unlink()
    linecache.clearcache()

    facts = Attributor(loads(dumps(bundle)))

    assert before == facts.attributions
    (found,) = facts.attributions
    assert "return torch.exp(" == facts.text(found.locations[0].frame)
    (file,) = (each for each in bundle.sources if each.path == str(path))
    assert hashlib.sha256(text.encode()).hexdigest() == file.sha256


def test_moved_lines_are_the_new_ones(record_one, tmp_path):
    """After an edit the same graph has its new lines (torch-spyre#2397, #3899)."""
    path, text = (
        tmp_path / "moved.py",
        "import torch\ndef model(x):\n    return x.exp()\n",
    )
    found = []
    for blank in ("", "\n\n"):
        program = load_program(path, blank + text)
        (op,) = attribute(record_one(program.model, half(4, 64)))
        found.append(op.locations[0].frame.line)

    assert [3, 5] == found
