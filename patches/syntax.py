"""Finding and adding pieces of Python source, as LibCST sees it."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import dedent
from typing import TypeVar

import libcst as cst
from libcst import matchers as m

from .errors import UnrecognisedError

_Definition = TypeVar("_Definition", cst.ClassDef, cst.FunctionDef)

_T = TypeVar("_T")

Block = cst.Module | cst.ClassDef | cst.FunctionDef
"""What has statements of its own."""


def parse(source: bytes) -> cst.Module:
    """Return the tree of a source file; it gives back the same bytes.

    Raises:
        UnrecognisedError: It is not Python.
    """
    try:
        return cst.parse_module(source)
    except (cst.ParserSyntaxError, UnicodeDecodeError, LookupError) as error:
        raise UnrecognisedError("it cannot be parsed as Python") from error


def class_named(block: Block, name: str) -> cst.ClassDef:
    """Return the class of a name among a block's statements.

    Raises:
        UnrecognisedError: There is none, or more than one.
    """
    return _named(block, name, cst.ClassDef, "class")


def function_named(block: Block, name: str) -> cst.FunctionDef:
    """Return the function or method of a name among a block's statements.

    Raises:
        UnrecognisedError: There is none, or more than one.
    """
    return _named(block, name, cst.FunctionDef, "function")


def _named(block: Block, name: str, kind: type[_Definition], word: str) -> _Definition:
    found = [
        each
        for each in statements_of(block)
        if isinstance(each, kind) and each.name.value == name
    ]
    return only(found, f"{word} {name}")


def only(found: Sequence[_T], what: str) -> _T:
    """Return the one thing that was found.

    Args:
        found: What was found.
        what: What it is, for the message.

    Raises:
        UnrecognisedError: None was found, or several.
    """
    if len(found) != 1:
        raise UnrecognisedError(f"{len(found) or 'no'} {what}, where one was expected")
    return found[0]


def statements_of(block: Block) -> Sequence[cst.CSTNode]:
    """Return the statements of a block."""
    return block.body if isinstance(block, cst.Module) else block.body.body


def assigns(block: Block, name: str) -> bool:
    """Return whether a statement of a block itself gives a name its value."""
    target = m.Name(name)
    assignment = m.AnnAssign(target=target) | m.Assign(targets=[m.AssignTarget(target)])
    line = m.SimpleStatementLine(body=[assignment])
    return any(m.matches(each, line) for each in statements_of(block))


def parameter(function: cst.FunctionDef, index: int) -> str:
    """Return the name of a function's positional parameter.

    Raises:
        UnrecognisedError: It has fewer.
    """
    names = [each.name.value for each in function.params.params]
    if index >= len(names):
        raise UnrecognisedError(
            f"{function.name.value} has {len(names)} parameters, "
            f"where {index + 1} were expected"
        )
    return names[index]


def calls(tree: cst.CSTNode, callee: str, *arguments: str) -> list[cst.Call]:
    """Return the calls of a function whose first arguments are these names.

    Args:
        tree: Where to look.
        callee: The function's name, without dots.
        arguments: Names that are passed, in order. More arguments may follow.
    """
    return [
        call
        for call in m.findall(tree, m.Call(func=m.Name(callee)))
        if isinstance(call, cst.Call)
        and len(call.args) >= len(arguments)
        and all(
            m.matches(given, m.Arg(value=m.Name(name), keyword=None, star=""))
            for given, name in zip(call.args, arguments, strict=False)
        )
    ]


def new_statements(
    module: cst.Module, source: str
) -> tuple[cst.SimpleStatementLine | cst.BaseCompoundStatement, ...]:
    """Return statements of our own, ready to be inserted into a module.

    Args:
        module: The module, whose line endings and indentation they take over.
        source: The statements; a common indentation is taken off.
    """
    parsed = cst.parse_module(dedent(source), config=module.config_for_parsing)
    first, *rest = parsed.body
    # What stands before the first statement belongs to the module that was parsed.
    first = first.with_changes(leading_lines=(*parsed.header, *first.leading_lines))
    return (first, *rest)


class _Insertion(cst.CSTTransformer):
    def __init__(
        self,
        anchor: cst.CSTNode,
        before: Sequence[cst.BaseStatement],
        after: Sequence[cst.BaseStatement],
    ) -> None:
        super().__init__()
        self.anchor, self.before, self.after = anchor, before, after

    def on_leave(
        self, original_node: cst.CSTNodeT, updated_node: cst.CSTNodeT
    ) -> object:
        if original_node is not self.anchor:
            return super().on_leave(original_node, updated_node)
        return cst.FlattenSentinel([*self.before, updated_node, *self.after])


def insert(
    module: cst.Module,
    anchor: cst.CSTNode,
    *,
    before: Sequence[cst.BaseStatement] = (),
    after: Sequence[cst.BaseStatement] = (),
) -> cst.Module:
    """Return a module with statements before and after one of its statements."""
    return cst.ensure_type(module.visit(_Insertion(anchor, before, after)), cst.Module)
