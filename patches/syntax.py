"""Finding and adding pieces of Python source, as LibCST sees it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from textwrap import dedent
from typing import Any, TypeVar, cast

import libcst as cst
from libcst import matchers as m

from .errors import UnrecognisedError

_T = TypeVar("_T")
_Tree = TypeVar("_Tree", bound=cst.CSTNode)
_Definition = TypeVar("_Definition", cst.ClassDef, cst.FunctionDef)

Block = cst.Module | cst.ClassDef | cst.FunctionDef
"""What has statements of its own."""


def parse(source: bytes) -> cst.Module:
    """Return the tree of a source file; it gives back the same bytes.

    Raises:
        UnrecognisedError: It is not Python.
    """
    try:
        return cst.parse_module(source)
    except (cst.ParserSyntaxError, SyntaxError, ValueError, LookupError) as error:
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


def spaced(statement: _Tree) -> _Tree:
    """Return a statement with a blank line before it."""
    leading = getattr(statement, "leading_lines", ())
    blank = cst.EmptyLine(indent=False)
    return statement.with_changes(leading_lines=[blank, *leading])


def replace(tree: _Tree, nodes: Mapping[cst.CSTNode, Sequence[cst.CSTNode]]) -> _Tree:
    """Return a tree with other nodes in the place of some.

    Args:
        tree: The tree; it stays as it is.
        nodes: Nodes of the tree, each with what comes in its place: one node, or for a
            statement several. The node itself may be among them; what is replaced
            within it is then replaced there.
    """
    return cast("_Tree", tree.visit(_Replacement(nodes)))


class _Replacement(cst.CSTTransformer):
    def __init__(self, nodes: Mapping[cst.CSTNode, Sequence[cst.CSTNode]]) -> None:
        super().__init__()
        self.nodes = nodes

    def on_leave(self, original_node: cst.CSTNodeT, updated_node: cst.CSTNodeT) -> Any:
        if original_node not in self.nodes:
            return super().on_leave(original_node, updated_node)
        new = [
            updated_node if each is original_node else each
            for each in self.nodes[original_node]
        ]
        return new[0] if len(new) == 1 else cst.FlattenSentinel(new)
