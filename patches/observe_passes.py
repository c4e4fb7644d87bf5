"""Let others look at the graph before and after each pre-scheduling pass.

What is wanted: a list to which a tool appends a callable, which then sees the
``GraphLowering`` right before and right after each pass that torch-spyre runs on it
before the scheduler exists.

Why: these passes insert buffers, split them, merge them and drop them, and an operation
that loses its origin there is a kernel without a source line. The only places to look
from are before the first pass and after the last, so a loss cannot be blamed on the
pass that caused it. Log records are no substitute: they need a log level that also
formats the whole graph, and name the wrapper ``_maybe_coarse_tile`` where
``coarse_tile`` ran.

The change: a module-level list ``pass_observers`` in ``passes.py``, and a function of a
dozen lines through which each pass is run. An observer is called as
``observer(pass_name, graph, after)``: `after` is False, then True. A wrapper that is
tagged with the passes it runs stays silent; its passes announce themselves, so a step
that a setting leaves out is not reported, and names are those of the passes. What an
observer returns is ignored; what it raises ends the compile, so guarding is its own
business. After a pass that raises it is not called.

What stays the same: everything, while the list is empty. Observers are no part of the
passes' uuid, since they change nothing; on a cache hit no pass runs and none is called.
(That uuid is a hash of ``passes.py``, too, so what was cached before this change is
compiled once more.)

The passes around fusion are left alone. They work on scheduler nodes, not on this
graph, and Inductor has options for passes before and after them.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

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
    new_statements,
    only,
    parameter,
    replace,
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
    nodes: dict[cst.CSTNode, Sequence[cst.CSTNode]] = {
        call: (_observed(call),)
        for call in (*_pipeline_call(module), *_wrapped_calls(module))
    }
    if not assigns(module, _OBSERVERS):
        _require_imports(module)
        first = _first_user(module)
        nodes[first] = (*new_statements(module, _BLOCK), first)
    return replace(module, nodes)


def _require_imports(module: cst.Module) -> None:
    for name in _NEEDED:
        if not m.findall(module, m.ImportAlias(name=m.Name(name))):
            raise UnrecognisedError(f"it does not import {name}")


def _pipeline_call(module: cst.Module) -> list[cst.Call]:
    """Return the pipeline's call of a pass, nothing where it is observed already."""
    method = function_named(class_named(module, _PIPELINE), "__call__")
    graph = parameter(method, 1)
    loop = cst.ensure_type(
        only(m.findall(method, _PASSES_LOOP), f"loop over the passes of {_PIPELINE}"),
        cst.For,
    )
    pass_fn = cst.ensure_type(loop.target, cst.Name).value
    if calls(loop, _RUN, pass_fn, graph):
        return []
    return [only(calls(loop, pass_fn, graph), f"call of a pass in {_PIPELINE}")]


def _wrapped_calls(module: cst.Module) -> list[cst.Call]:
    """Return the calls of passes in tagged wrappers that are not observed yet."""
    found: list[cst.Call] = []
    for wrapper in statements_of(module):
        if not isinstance(wrapper, cst.FunctionDef):
            continue
        for tag in wrapper.decorators:
            if m.matches(tag, _TAGGING):
                names = _tagged_names(cst.ensure_type(tag.decorator, cst.Call))
                found += _calls_in(wrapper, names)
    if found and not m.findall(module, m.SimpleString(f'"{_TAGGED}"')):
        raise UnrecognisedError(f"{_TAG} does not set {_TAGGED}")
    return found


def _tagged_names(tag: cst.Call) -> list[str]:
    return [each.value.value for each in tag.args if isinstance(each.value, cst.Name)]


def _calls_in(wrapper: cst.FunctionDef, names: list[str]) -> list[cst.Call]:
    graph = parameter(wrapper, 0)
    # What is tagged and called without the graph is a helper, not a pass over it.
    found = [call for name in names for call in calls(wrapper, name, graph)]
    if not found and not any(calls(wrapper, _RUN, name, graph) for name in names):
        message = f"{wrapper.name.value} runs none of its passes on {graph}"
        raise UnrecognisedError(message)
    return found


def _observed(call: cst.Call) -> cst.Call:
    return call.with_changes(func=cst.Name(_RUN), args=[cst.Arg(call.func), *call.args])


def _first_user(module: cst.Module) -> cst.CSTNode:
    """Return the statement that the new ones go before."""
    tags = [
        each
        for each in statements_of(module)
        if m.matches(each, m.FunctionDef(name=m.Name(_TAG)))
    ]
    return tags[0] if tags else class_named(module, _PIPELINE)


CODEMOD = Codemod(
    name="observe_passes",
    argument=__doc__,
    edits=(Edit(path="torch_spyre/_inductor/passes.py", rewrite=observe),),
)

if __name__ == "__main__":
    sys.exit(run(CODEMOD))
