"""What is recorded of an FX graph."""

from __future__ import annotations

from attrs import frozen

from .stage import Presence

FX_FIELDS = (
    "stack_trace",
    "nn_module_stack",
    "source_fn_stack",
    "original_aten",
    "from_node",
)
"""The `Node.meta` keys whose presence is tracked, in the report's order."""


@frozen(kw_only=True, cache_hash=True)
class Field:
    """The finding for one tracked field of one object.

    Attributes:
        name: The field's name.
        presence: What was found.
        type: Name of the value's Python type, where there is a value.
    """

    name: str
    presence: Presence
    type: str | None = None


@frozen(kw_only=True, cache_hash=True)
class ModuleCall:
    """One `nn.Module` on the way from the root to a node.

    Attributes:
        path: The module's path from the root, ``layers.0.fc1``.
        type: The class's qualified name.
    """

    path: str
    type: str


@frozen(kw_only=True)
class SourceFn:
    """One entry of a node's `source_fn_stack`: the node's name then, and its target."""

    name: str
    target: str


@frozen(kw_only=True)
class FromNode:
    """One step of a node's `from_node` history.

    Attributes:
        name: The node that this one came from.
        target: That node's target.
        pass_name: The pass that made the step, or "".
        action: ``create``, ``replace``, both joined by ``+``, or "".
        depth: 0 for the nearest step, 1 for the step before it, and so on.
    """

    name: str
    target: str
    pass_name: str
    action: str
    depth: int


@frozen(kw_only=True)
class FxNode:
    """One node of an FX graph.

    Attributes:
        name: The node's name, unique in its graph.
        op: ``call_function``, ``call_module``, ``call_method`` or ``get_attr``.
        target: Text of the target: an ATen overload, a function, a module path.
        inputs: Names of `all_input_nodes`, in order.
        fields: One finding per name in `FX_FIELDS`, in that order.
        meta_keys: Every key of `Node.meta`, sorted.
        stack: Index into the bundle's `stacks`, or None without a stack trace.
        modules: The enclosing modules, outermost first.
        source_fns: The node's `source_fn_stack`, outermost first.
        original_aten: Text of the ATen overload that it was lowered from, or None.
        from_nodes: The node's history, nearest step first.
    """

    name: str
    op: str
    target: str
    inputs: tuple[str, ...]
    fields: tuple[Field, ...]
    meta_keys: tuple[str, ...]
    stack: int | None = None
    modules: tuple[ModuleCall, ...] = ()
    source_fns: tuple[SourceFn, ...] = ()
    original_aten: str | None = None
    from_nodes: tuple[FromNode, ...] = ()


@frozen(kw_only=True)
class FxGraph:
    """An FX graph at one stage.

    Attributes:
        nodes: Every compute node, in graph order.
        placeholders: Names of the inputs, in order.
        outputs: Names of the nodes that the graph returns, in order.
    """

    nodes: tuple[FxNode, ...]
    placeholders: tuple[str, ...] = ()
    outputs: tuple[str, ...] = ()
