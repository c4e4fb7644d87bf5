"""The owning `nn.Module` of every op: whole paths, repeated layers, hooks."""

from __future__ import annotations

import torch
from scenarios.compiling import half, op_lines

from torch_spyre_provenance.analysis.attribution import attribute


class Layer(torch.nn.Module):
    """A layer of two modules of its own."""

    def __init__(self):
        super().__init__()
        self.proj = torch.nn.Linear(64, 64)
        self.act = torch.nn.ReLU()

    def forward(self, x):
        x = self.proj(x)  # proj
        return self.act(x)  # act


class Model(torch.nn.Module):
    """Two equal layers and an op of its own."""

    def __init__(self):
        super().__init__()
        self.layers = torch.nn.ModuleList([Layer(), Layer()])

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x * x  # root


def owners(bundle) -> list[str]:
    """Return the path of the innermost module of each op."""
    return [found.module_path for found in attribute(bundle)]


def test_every_level_of_the_modules_is_kept(record_one):
    """The stack of modules is whole, with its classes (pytorch#110115)."""
    bundle = record_one(Model().half().to("spyre"), half(4, 64))

    product = attribute(bundle)[0]
    assert [
        ("layers.0", f"{__name__}.Layer"),
        ("layers.0.proj", "torch.nn.modules.linear.Linear"),
    ] == [(call.path, call.type) for call in product.modules]


def test_equal_layers_are_told_apart_by_module_where_lines_cannot(record_one):
    """Two layers run the same lines; the module says which is which (vllm#29990)."""
    bundle = record_one(Model().half().to("spyre"), half(4, 64))

    turn = [("batchmatmul", ["proj"]), ("add", ["proj"]), ("relufwd", ["act"])]
    assert [*turn, *turn, ("mul", ["root"])] == op_lines(bundle)
    assert [
        *("layers.0.proj", "layers.0.proj", "layers.0.act"),
        *("layers.1.proj", "layers.1.proj", "layers.1.act"),
        "",
    ] == owners(bundle)


def test_hooks_of_modules_have_their_own_lines(record_one):
    """Dynamo traces hooks along; what they compute is theirs (sglang#24122)."""
    model = Layer().half().to("spyre")
    model.proj.register_forward_hook(lambda _m, _in, out: out * 2.0)  # after
    model.act.register_forward_pre_hook(lambda _m, args: (args[0] + 1.0,))  # before

    bundle = record_one(model, half(4, 64))

    assert [
        ("batchmatmul", ["proj"]),
        ("add", ["proj"]),
        ("mul", ["after"]),
        ("add", ["before"]),
        ("relufwd", ["act"]),
    ] == op_lines(bundle)
    assert ["proj", "proj", "proj", "act", "act"] == owners(bundle)


def test_module_of_torch_alone_says_why_it_has_no_line(record_one):
    """Nobody wrote a line for a bare ``Sequential``: the module is what is known."""
    layers = [torch.nn.Linear(64, 64), torch.nn.ReLU()]
    bundle = record_one(torch.nn.Sequential(*layers).half().to("spyre"), half(4, 64))

    found = attribute(bundle)
    assert [()] * 3 == [each.locations for each in found]
    assert {"Dynamo's graph has no line for"} == {each.reason[:30] for each in found}
    assert ["0", "0", "1"] == [path.rpartition(".")[2] for path in owners(bundle)]
