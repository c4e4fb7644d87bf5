"""A context that composes its passes with those that are configured."""

from __future__ import annotations

import pytest
import torch
from torch._inductor import config
from torch._inductor.custom_graph_pass import CustomGraphPass

from patches.checkout import Checkout
from patches.compose_passes import CODEMOD, PASS_OPTIONS, compose_in_context
from patches.errors import UnrecognisedError
from patches.syntax import parse
from torch_spyre_provenance.frontends.discovery import load_front_end
from torch_spyre_provenance.recording.installation import register_plain

NODE_OPTIONS = PASS_OPTIONS[3:]
CLASSES = (
    "CustomPreGradPasses",
    "CustomPrePasses",
    "CustomPostPasses",
    "CustomPreFusionPasses",
    "CustomPostFusionPasses",
)


class OwnGraphPass(CustomGraphPass):
    """A pass of the user's."""

    def __init__(self, name, ran):
        self.name, self.ran = name, ran

    def __call__(self, graph):
        """Say that it ran."""
        self.ran.append(self.name)

    def uuid(self):
        """Return its name."""
        return self.name


@pytest.fixture
def compiler(checkout, load):
    """The patched modules: the context's, and the passes'."""
    Checkout(checkout).write(CODEMOD.changes(Checkout(checkout)))
    return load("patches"), load("passes")


def compile_once():
    """Compile something for the Spyre device."""
    register_plain(load_front_end("reference"))
    torch._dynamo.reset()
    with config.patch(fx_graph_cache=False):
        torch.compile(torch.relu)(torch.ones(64, 64).to("spyre"))


def test_configured_passes_run_first(compiler):
    """In a real compile, each option's own pass runs, then the device's."""
    patches, passes = compiler
    ran = passes.ran
    own = {option: OwnGraphPass(option, ran) for option in PASS_OPTIONS[:3]}
    for option in NODE_OPTIONS:
        own[option] = lambda nodes, option=option: (ran.append(option), nodes)[1]

    with config.patch(own), patches.enable_spyre_context():
        compile_once()

    assert [
        name for pair in zip(PASS_OPTIONS, CLASSES, strict=True) for name in pair
    ] == ran


def test_nothing_configured_leaves_the_options_as_they_were(compiler):
    """Every option has the device's own object, and the others theirs."""
    patches, passes = compiler

    with patches.enable_spyre_context():
        for option, name in zip(PASS_OPTIONS, CLASSES, strict=True):
            assert getattr(passes, name) is type(getattr(config, option))
        assert config.permute_fusion is False

    assert [None] * len(PASS_OPTIONS) == [getattr(config, o) for o in PASS_OPTIONS]


def test_a_second_entry_adds_nothing(compiler):
    """A compile within a compile runs the device's passes once."""
    patches, passes = compiler
    own = OwnGraphPass("own", passes.ran)

    with (
        config.patch(pre_grad_custom_pass=own),
        patches.enable_spyre_context(),
        patches.enable_spyre_context(),
    ):
        compile_once()

    assert ["own", *CLASSES] == passes.ran


CONTEXT = """\
import torch

def enable_spyre_context():
    options = {}
    torch._inductor.config.patch(options)
"""


@pytest.mark.parametrize(
    ("source", "complaint"),
    [
        ("", "no function enable_spyre_context"),
        (CONTEXT, "enable_spyre_context does not set pre_grad_custom_pass, post_grad"),
        (
            CONTEXT.replace(
                "{}", str(dict.fromkeys(PASS_OPTIONS)).replace("'", '"')
            ).replace("patch(options)", "update(options)"),
            "no call of config.patch",
        ),
    ],
)
def test_other_shapes_are_not_recognised(source, complaint):
    """A context that sets its options in another way is left as it is."""
    with pytest.raises(UnrecognisedError, match=complaint):
        compose_in_context(parse(source.encode()))
