"""Let a subclass of ``SuperDSCScheduling`` say which kernel class it builds.

What is wanted: a class attribute ``kernel_class``, which the scheduling class uses
wherever it builds a kernel.

Why: Inductor lets a device's scheduling class be subclassed and registered again, which
is how a tool or an experiment takes part in code generation without replacing anything.
But the kernel, which turns loop bodies into OpSpecs, is named inside the methods that
build it, so whoever wants to see or to change an OpSpec as it is made has to copy those
methods whole, and to follow every change of them. Inductor's ``SIMDScheduling`` has
such an attribute, ``kernel_type``, for the same reason.

The change: one attribute, and ``self.kernel_class()`` for each ``SpyreKernel()``.

What stays the same: the attribute's value is ``SpyreKernel``, so every kernel is one.
"""

from __future__ import annotations

import sys
from typing import Any

import libcst as cst
from libcst import matchers as m

from .codemod import Codemod, Edit
from .command import run
from .errors import UnrecognisedError
from .syntax import (
    assigns,
    calls,
    class_named,
    new_statements,
    parameter,
    replace,
    spaced,
    statements_of,
)

_SCHEDULING = "SuperDSCScheduling"
_KERNEL = "SpyreKernel"
_ATTRIBUTE = "kernel_class"

_BLOCK = f"""\
# What builds this class's kernels; a subclass may name another.
{_ATTRIBUTE}: type[{_KERNEL}] = {_KERNEL}
"""

_BUILT = m.Call(func=m.Attribute(value=m.Name("self"), attr=m.Name(_ATTRIBUTE)))


def name_kernel_class(module: cst.Module) -> cst.Module:
    """Return ``scheduler.py`` with the kernel's class in an attribute."""
    factory = cst.parse_expression(f"self.{_ATTRIBUTE}")
    built = _kernels_built(class_named(module, _SCHEDULING))
    changed = replace(
        module, {call: (call.with_changes(func=factory),) for call in built}
    )
    scheduling = class_named(changed, _SCHEDULING)
    if not m.findall(scheduling, _BUILT):
        raise UnrecognisedError(f"{_SCHEDULING} builds no {_KERNEL}")
    if calls(changed, _KERNEL):
        raise UnrecognisedError(f"{_KERNEL} is built outside of {_SCHEDULING}, too")
    return replace(changed, {scheduling: (_with_attribute(module, scheduling),)})


def _kernels_built(scheduling: cst.ClassDef) -> list[cst.Call]:
    found: list[cst.Call] = []
    for method in statements_of(scheduling):
        if not isinstance(method, cst.FunctionDef) or not calls(method, _KERNEL):
            continue
        if parameter(method, 0) != "self":
            message = f"{method.name.value} builds a {_KERNEL} without self"
            raise UnrecognisedError(message)
        found += calls(method, _KERNEL)
    return found


def _with_attribute(module: cst.Module, scheduling: cst.ClassDef) -> cst.ClassDef:
    if assigns(scheduling, _ATTRIBUTE):
        return scheduling
    body: list[Any] = list(statements_of(scheduling))
    if scheduling.get_docstring() is not None:
        body[1:1] = map(spaced, new_statements(module, _BLOCK))
    else:
        body[0] = spaced(body[0])
        body[:0] = new_statements(module, _BLOCK)
    return scheduling.with_changes(body=scheduling.body.with_changes(body=body))


CODEMOD = Codemod(
    name=_ATTRIBUTE,
    argument=__doc__,
    edits=(Edit(path="torch_spyre/_inductor/scheduler.py", rewrite=name_kernel_class),),
)

if __name__ == "__main__":
    sys.exit(run(CODEMOD))
