"""Let an OpSpec say which buffer it computes.

What is wanted: a field ``buffer_name`` on ``OpSpec`` with the name of the LoopLevelIR
buffer that the op computes.

Why: an OpSpec is the last thing that belongs to one buffer, and the first that no
longer says which. Whoever follows an operation from the graph to the device has to take
the name out of ``debug_handle``, where there is one, or count: the specs come in the
order of the scheduled nodes, unless a node yields none or several. An op without a
handle, which is every op of releases without handles, is where counting is all there
is.

The change: one field, the last, with a default; and the one place that builds OpSpecs
fills it in. Where ``kernel_provenance.py`` keeps a list of the fields that it knows,
the field joins that list, and stays out of the key.

What stays the same: the field takes no part in comparisons, and the generated code does
not carry it. Two kernels that differ in nothing but the names of their buffers have
equal source; they share one definition and one directory, and have equal keys. Writing
the name into the source would part them. So it is there for those who look at a
kernel's specs while it is compiled, which is when the name means something.
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
    new_statements,
    only,
    replace,
    statements_of,
)

_SPEC = "OpSpec"
_FIELD = "buffer_name"
_TYPE = "str | None"
_BUILDER = "create_op_spec"
_SCHEMA = "_EXPECTED_OP_SPEC_SCHEMA"

_BLOCK = f"""\
# The buffer that this op computes. For those who look on while a kernel is compiled:
# no part of the generated code, nor of what makes two specs equal.
{_FIELD}: {_TYPE} = dataclasses.field(default=None, compare=False)
"""

_NOTHING = cst.SimpleWhitespace("")
_DATACLASS = m.Decorator(
    decorator=m.Attribute(value=m.Name("dataclasses"), attr=m.Name("dataclass"))
)
_FIELD_LINE = m.SimpleStatementLine(body=[m.AnnAssign()])
# The builder has a local name for the buffer: node = self.current_node.node
_NODE = m.Assign(
    targets=[m.AssignTarget(m.Name())],
    value=m.Attribute(
        value=m.Attribute(value=m.Name("self"), attr=m.Name("current_node")),
        attr=m.Name("node"),
    ),
)


def declare_field(module: cst.Module) -> cst.Module:
    """Return ``op_spec.py`` with the field declared last."""
    spec = class_named(module, _SPEC)
    if assigns(spec, _FIELD):
        return module
    if not any(m.matches(each, _DATACLASS) for each in spec.decorators):
        raise UnrecognisedError(f"{_SPEC} is not decorated with dataclasses.dataclass")
    fields = [each for each in statements_of(spec) if m.matches(each, _FIELD_LINE)]
    if not fields:
        raise UnrecognisedError(f"{_SPEC} has no fields")
    last = fields[-1]
    return replace(module, {last: (last, *new_statements(module, _BLOCK))})


def fill_field(module: cst.Module) -> cst.Module:
    """Return ``spyre_kernel.py`` with the field filled in."""
    kernel = class_named(module, "SpyreKernel")
    builder = function_named(kernel, _BUILDER)
    built = only(calls(builder, _SPEC), f"call of {_SPEC} in {_BUILDER}")
    if any(each.keyword and each.keyword.value == _FIELD for each in built.args):
        return module
    node = only(m.findall(builder, _NODE), f"name for the buffer in {_BUILDER}")
    name = cst.ensure_type(
        cst.ensure_type(node, cst.Assign).targets[0].target, cst.Name
    ).value
    filled = _with_keyword(built, f"{name}.get_name()")
    return replace(module, {built: (filled,)})


def _with_keyword(call: cst.Call, value: str) -> cst.Call:
    """Return a call with the field's value as the last argument, laid out alike."""
    last = call.args[-1]
    previous = last.with_changes(
        comma=_between(last.comma, call.whitespace_before_args),
        whitespace_after_arg=_NOTHING,
    )
    added = cst.Arg(
        keyword=cst.Name(_FIELD),
        value=cst.parse_expression(value),
        equal=cst.AssignEqual(whitespace_before=_NOTHING, whitespace_after=_NOTHING),
        comma=last.comma,
        whitespace_after_arg=last.whitespace_after_arg,
    )
    return call.with_changes(args=[*call.args[:-1], previous, added])


def _between(
    comma: cst.Comma | cst.MaybeSentinel, space: cst.BaseParenthesizableWhitespace
) -> cst.Comma | cst.MaybeSentinel:
    """Return what goes between two entries.

    Args:
        comma: What follows the last entry so far: a comma where each has its own line.
        space: What stands before the first entry.
    """
    if isinstance(comma, cst.Comma):
        return comma.with_changes(whitespace_after=space)
    return cst.MaybeSentinel.DEFAULT


def expect_field(module: cst.Module) -> cst.Module:
    """Return ``kernel_provenance.py`` with the field among those it expects."""
    line = m.SimpleStatementLine(
        body=[m.Assign(targets=[m.AssignTarget(m.Name(_SCHEMA))], value=m.Dict())]
    )
    schema = only(
        [each for each in statements_of(module) if m.matches(each, line)], _SCHEMA
    )
    fields = cst.ensure_type(only(m.findall(schema, m.Dict()), _SCHEMA), cst.Dict)
    known = [
        element.key.evaluated_value
        for element in fields.elements
        if isinstance(element, cst.DictElement)
        and isinstance(element.key, cst.SimpleString)
    ]
    if _FIELD in known:
        return module
    if not known:
        raise UnrecognisedError(f"{_SCHEMA} is empty")
    *others, last = fields.elements
    between = _between(last.comma, fields.lbrace.whitespace_after)
    added = cst.DictElement(
        key=cst.SimpleString(f'"{_FIELD}"'),
        value=cst.SimpleString(f'"{_TYPE}"'),
        comma=last.comma,
    )
    extended = fields.with_changes(
        elements=[*others, last.with_changes(comma=between), added]
    )
    return replace(module, {fields: (extended,)})


CODEMOD = Codemod(
    name=_FIELD,
    argument=__doc__,
    edits=(
        Edit(path="torch_spyre/_inductor/op_spec.py", rewrite=declare_field),
        Edit(path="torch_spyre/_inductor/spyre_kernel.py", rewrite=fill_field),
        Edit(
            path="torch_spyre/_inductor/kernel_provenance.py",
            rewrite=expect_field,
            optional=True,
        ),
    ),
)

if __name__ == "__main__":
    sys.exit(run(CODEMOD))
