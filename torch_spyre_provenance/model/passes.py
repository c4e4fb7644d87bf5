"""What compiler passes did to provenance, pass by pass."""

from __future__ import annotations

from attrs import frozen


@frozen(kw_only=True)
class Loss:
    """Provenance that an operation had before a pass and not after it.

    Attributes:
        op: Name of the operation (``op3``).
        buffer: Name of its buffer, or None.
        what: ``origins`` or ``origin_node``.
        before: Names of the FX nodes before the pass, sorted.
        after: Those that are left, sorted; a partial loss leaves some.
    """

    op: str
    buffer: str | None
    what: str
    before: tuple[str, ...]
    after: tuple[str, ...]


@frozen(kw_only=True)
class Created:
    """An operation that a pass made.

    Attributes:
        op: Its name.
        buffer: Name of its buffer, or None.
        origins: Names of the FX nodes it came with, sorted.
        has_source: Whether any of them has a stack trace.
    """

    op: str
    buffer: str | None
    origins: tuple[str, ...]
    has_source: bool


@frozen(kw_only=True)
class PassStep:
    """One pre-scheduling pass that changed something.

    Attributes:
        name: The pass's name.
        index: Its position among the passes that ran, from 0.
        created: Operations that it made.
        removed: Names of the operations that it took away.
        rebuilt: Names of the operations that it replaced by new objects.
        losses: What got lost on operations that were there before.
    """

    name: str
    index: int
    created: tuple[Created, ...] = ()
    removed: tuple[str, ...] = ()
    rebuilt: tuple[str, ...] = ()
    losses: tuple[Loss, ...] = ()


@frozen(kw_only=True)
class Replacement:
    """An FX node that took over the uses of another one in the post-grad passes.

    Attributes:
        new: Name of the new node.
        old: Name of the node that it stands for.
        sources: Where the old node came from: names of Dynamo's nodes, sorted.
        stack: Index of the old node's stack trace, or None.
        direct: Whether the new node itself got the old one's uses; False for a node
            that was only made along with it.
    """

    new: str
    old: str
    direct: bool
    sources: tuple[str, ...] = ()
    stack: int | None = None
