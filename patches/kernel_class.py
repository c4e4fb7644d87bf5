"""Let a subclass of ``SuperDSCScheduling`` say which kernel class it builds.

What is wanted: a class attribute ``kernel_class``, which the scheduling class uses
wherever it builds a kernel.

Why: Inductor lets a device's scheduling class be subclassed and registered again, which
is how a tool or an experiment takes part in code generation without replacing anything.
But the kernel, which turns loop bodies into OpSpecs, is named inside the methods that
build it, so whoever wants to see or to change an OpSpec as it is made has to copy those
methods whole, and to follow every change of them. Inductor's ``SIMDScheduling`` has such
an attribute, ``kernel_type``, for the same reason.

The change: one attribute, and ``self.kernel_class()`` for each ``SpyreKernel()``.

What stays the same: the attribute's value is ``SpyreKernel``, so every kernel is one.
"""

from __future__ import annotations

import sys

import libcst as cst
from libcst import matchers as m

from .codemod import Codemod, Edit
from .command import run
from .errors import UnrecognisedError
from .syntax import assigns, calls, class_named, new_statements, parameter

_SCHEDULING = "SuperDSCScheduling"
_KERNEL = "SpyreKernel"
_ATTRIBUTE = "kernel_class"

_BLOCK = f"""
# What builds this class's kernels; a subclass may name another.
{_ATTRIBUTE}: type[{_KERNEL}] = {_KERNEL}
"""

_BLANK = cst.EmptyLine(indent=False)
_BUILT = m.Call(func=m.Attribute(value=m.Name("self"), attr=m.Name(_ATTRIBUTE)))


def name_kernel_class(module: cst.Module) -> cst.Module:
    """Return ``scheduler.py`` with the kernel's class in an attribute."""
    scheduling = class_named(module, _SCHEDULING)
    changed = _with_attribute(module, _building_by_attribute(scheduling))
    if not m.findall(changed, _BUILT):
        raise UnrecognisedError(f"{_SCHEDULING} builds no {_KERNEL}")
    module = cst.ensure_type(module.deep_replace(scheduling, changed), cst.Module)
    if calls(module, _KERNEL):
        raise UnrecognisedError(f"{_KERNEL} is built outside of {_SCHEDULING}, too")
    return module


def _building_by_attribute(scheduling: cst.ClassDef) -> cst.ClassDef:
    body = [
        _method_by_attribute(each) if isinstance(each, cst.FunctionDef) else each
        for each in scheduling.body.body
    ]
    return scheduling.with_changes(body=scheduling.body.with_changes(body=body))


def _method_by_attribute(method: cst.FunctionDef) -> cst.FunctionDef:
    built = calls(method, _KERNEL)
    if not built:
        return method
    if parameter(method, 0) != "self":
        raise UnrecognisedError(f"{method.name.value} builds a {_KERNEL} without self")
    factory = cst.parse_expression(f"self.{_ATTRIBUTE}")
    for call in built:
        method = cst.ensure_type(
            method.deep_replace(call, call.with_changes(func=factory)), cst.FunctionDef
        )
    return method


def _with_attribute(module: cst.Module, scheduling: cst.ClassDef) -> cst.ClassDef:
    if assigns(scheduling, _ATTRIBUTE):
        return scheduling
    new = new_statements(module, _BLOCK)
    first, *rest = scheduling.body.body
    if scheduling.get_docstring() is not None:
        body = [first, *new, *rest]
    else:
        # A blank line goes between the attribute and what was first, none before it.
        spaced = first.with_changes(leading_lines=[_BLANK, *first.leading_lines])
        new = (new[0].with_changes(leading_lines=new[0].leading_lines[1:]), *new[1:])
        body = [*new, spaced, *rest]
    return scheduling.with_changes(body=scheduling.body.with_changes(body=body))


CODEMOD = Codemod(
    name=_ATTRIBUTE,
    argument=__doc__,
    edits=(
        Edit(path="torch_spyre/_inductor/scheduler.py", rewrite=name_kernel_class),
    ),
)

if __name__ == "__main__":
    sys.exit(run(CODEMOD))
