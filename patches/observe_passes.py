"""Let others look at the graph before and after each pre-scheduling pass.

What is wanted: a list to which a tool appends a callable, which then sees the
``GraphLowering`` right before and right after each pass that torch-spyre runs on it
before the scheduler exists.

Why: these passes insert buffers, split them, merge them and drop them, and an operation
that lost its origin there is a kernel without a source line. The only places to look
from are before the first pass and after the last, so a loss cannot be blamed on the pass
that caused it. Log records are no substitute: they need a log level that also formats
the whole graph, and name the wrapper ``_maybe_coarse_tile`` where ``coarse_tile`` ran.

The change: a module-level list ``pass_observers`` in ``passes.py``, and a function of a
dozen lines through which each pass is run. An observer is called as ``observer(pass_name,
graph, after)``: `after` is False, then True. A wrapper that is tagged with the passes it
runs stays silent; its passes announce themselves, so a step that a setting leaves out is
not reported, and names are those of the passes. What an observer returns is ignored;
what it raises ends the compile, so guarding is the observer's business.

What stays the same: everything, while the list is empty. Observers are no part of the
passes' uuid, since they change nothing; on a cache hit no pass runs and none is called.

The passes around fusion are left alone. They work on scheduler nodes, not on this
graph, and Inductor has an option before and after them.
"""

from __future__ import annotations

import sys

import libcst as cst
from libcst import matchers as m

from .codemod import Codemod, Edit
from .command import run
from .errors import UnrecognisedError
from .syntax import (
    assigns,
    calls,
    class_named,
    function_named,
    insert,
    new_statements,
    only,
    parameter,
    statements_of,
)

_PIPELINE = "CustomPreSchedulingPasses"
_OBSERVERS = "pass_observers"
_RUN = "_run_observed"
_TAG = "_runs"
_TAGGED = "_pass_sources"

_BLOCK = f'''

# Each is called as observer(pass_name, graph, after): right before a pre-scheduling
# pass with after=False, right after it with after=True. They look on and change
# nothing, so they are no part of a cache key.
{_OBSERVERS}: list[Callable[[str, GraphLowering, bool], Any]] = []


def {_RUN}(
    pass_fn: Callable, graph: GraphLowering, *args: Any, **kwargs: Any
) -> Any:
    """Run a pass, telling the observers; a tagged wrapper's passes tell for it."""
    if hasattr(pass_fn, "{_TAGGED}"):
        return pass_fn(graph, *args, **kwargs)
    name = getattr(pass_fn, "__name__", type(pass_fn).__name__)
    observers = tuple({_OBSERVERS})
    for observer in observers:
        observer(name, graph, False)
    result = pass_fn(graph, *args, **kwargs)
    for observer in observers:
        observer(name, graph, True)
    return result
'''
_NEEDED = ("Any", "Callable", "GraphLowering")

_PASSES_LOOP = m.For(
    target=m.Name(), iter=m.Attribute(value=m.Name("self"), attr=m.Name("passes"))
)
_TAGGING = m.Decorator(decorator=m.Call(func=m.Name(_TAG)))


def observe(module: cst.Module) -> cst.Module:
    """Return ``passes.py`` with its pre-scheduling passes observed."""
    replacements = _pipeline_call(module) | _wrapped_calls(module)
    if assigns(module, _OBSERVERS) and not replacements:
        return module
    for name in _NEEDED:
        if not m.findall(module, m.ImportAlias(name=m.Name(name))):
            raise UnrecognisedError(f"it does not import {name}")
    module = cst.ensure_type(module.visit(_Replacement(replacements)), cst.Module)
    if assigns(module, _OBSERVERS):
        return module
    return insert(module, _first_user(module), before=new_statements(module, _BLOCK))


def _pipeline_call(module: cst.Module) -> dict[cst.Call, cst.Call]:
    """Return the call with which the pipeline runs each pass, by what is to be there."""
    method = function_named(class_named(module, _PIPELINE), "__call__")
    graph = parameter(method, 1)
    loop = cst.ensure_type(
        only(m.findall(method, _PASSES_LOOP), f"loop over the passes of {_PIPELINE}"),
        cst.For,
    )
    pass_fn = cst.ensure_type(loop.target, cst.Name).value
    if calls(loop, _RUN, pass_fn, graph):
        return {}
    call = only(calls(loop, pass_fn, graph), f"call of a pass in {_PIPELINE}")
    return {call: _observed(call)}


def _wrapped_calls(module: cst.Module) -> dict[cst.Call, cst.Call]:
    """Return the calls of passes in tagged wrappers, by what is to be there."""
    replacements: dict[cst.Call, cst.Call] = {}
    for wrapper in statements_of(module):
        if not isinstance(wrapper, cst.FunctionDef):
            continue
        for tag in wrapper.decorators:
            if m.matches(tag, _TAGGING):
                names = _tagged_names(cst.ensure_type(tag.decorator, cst.Call))
                replacements |= _calls_in(wrapper, names)
    if replacements and not m.findall(module, m.SimpleString(f'"{_TAGGED}"')):
        raise UnrecognisedError(f"{_TAG} does not set {_TAGGED}")
    return replacements


def _tagged_names(tag: cst.Call) -> list[str]:
    return [each.value.value for each in tag.args if isinstance(each.value, cst.Name)]


def _calls_in(wrapper: cst.FunctionDef, names: list[str]) -> dict[cst.Call, cst.Call]:
    graph = parameter(wrapper, 0)
    # What is tagged and called without the graph is a helper, not a pass over it.
    found = [call for name in names for call in calls(wrapper, name, graph)]
    if not found and not any(calls(wrapper, _RUN, name, graph) for name in names):
        raise UnrecognisedError(
            f"{wrapper.name.value} runs none of its passes on {graph}"
        )
    return {call: _observed(call) for call in found}


def _observed(call: cst.Call) -> cst.Call:
    return call.with_changes(
        func=cst.Name(_RUN), args=[cst.Arg(call.func), *call.args]
    )


def _first_user(module: cst.Module) -> cst.CSTNode:
    """Return the statement that the new ones go before."""
    tags = [
        each
        for each in statements_of(module)
        if m.matches(each, m.FunctionDef(name=m.Name(_TAG)))
    ]
    return tags[0] if tags else class_named(module, _PIPELINE)


class _Replacement(cst.CSTTransformer):
    def __init__(self, replacements: dict[cst.Call, cst.Call]) -> None:
        super().__init__()
        self.replacements = replacements

    def leave_Call(
        self, original_node: cst.Call, updated_node: cst.Call
    ) -> cst.BaseExpression:
        return self.replacements.get(original_node, updated_node)


CODEMOD = Codemod(
    name="observe_passes",
    argument=__doc__,
    edits=(Edit(path="torch_spyre/_inductor/passes.py", rewrite=observe),),
)

if __name__ == "__main__":
    sys.exit(run(CODEMOD))
