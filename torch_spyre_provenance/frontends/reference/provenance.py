"""The debug handle of a buffer: torch-spyre's rule, on torch-spyre's fields."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, TypeVar

from torch_spyre_provenance.model import DebugHandle, SourceLoc, handle_id

_T = TypeVar("_T")

_FRAME = re.compile(r'File "([^"]+)", line (\d+)')
_FRAMEWORK = "/torch/"

HISTORY = "_spyre_prov_history"
"""Buffer attribute that holds the typed rewrite steps, as a tuple."""


def build_debug_handle(buffer: Any) -> DebugHandle | None:
    """Return the handle of a buffer, or None where it has no origins.

    The headline is the origin node's; without one, it is what all origins agree on.
    Where there are several origins, each has a flat handle of its own.
    """
    origins = sorted(buffer.origins, key=_origin_key)
    if not origins:
        return None
    source, aten_op = _headline(origins, buffer.origin_node)
    chain = (*(node.name for node in origins), buffer.get_name())
    fused = tuple(_flat_handle(node) for node in origins) if len(origins) > 1 else ()
    return DebugHandle(
        id=handle_id(source, aten_op, chain),
        source=source,
        aten_op=aten_op,
        ir_chain=chain,
        fused_from=fused,
        transform_history=tuple(getattr(buffer, HISTORY, ())),
    )


def source_of(node: Any) -> SourceLoc | None:
    """Return the innermost line of a node's stack trace that is not torch's own."""
    frames = _FRAME.findall(node.meta.get("stack_trace") or "")
    if not frames:
        return None
    own = [frame for frame in frames if _FRAMEWORK not in frame[0]]
    file, line = (own or frames)[-1]
    return SourceLoc(file=file, start_line=int(line))


def place_of(buffer: Any) -> str | None:
    """Return ``file:line`` of the model that a buffer comes from, where it is known."""
    sources = (source_of(node) for node in sorted(buffer.origins, key=_origin_key))
    source = next((found for found in sources if found is not None), None)
    return f"{source.file}:{source.start_line}" if source else None


def _origin_key(node: Any) -> tuple[str, str]:
    return node.name, str(node.meta.get("original_aten"))


def _aten_of(node: Any) -> str | None:
    operator = node.meta.get("original_aten")
    return None if operator is None else str(operator)


def _flat_handle(node: Any) -> DebugHandle:
    source, aten_op = source_of(node), _aten_of(node)
    return DebugHandle(
        id=handle_id(source, aten_op, (node.name,)),
        source=source,
        aten_op=aten_op,
        ir_chain=(node.name,),
    )


def _headline(
    origins: list[Any], origin_node: Any
) -> tuple[SourceLoc | None, str | None]:
    common = _only(source_of(node) for node in origins)
    if origin_node is None:
        return common, _only(_aten_of(node) for node in origins)
    return source_of(origin_node) or common, _aten_of(origin_node)


def _only(items: Iterable[_T | None]) -> _T | None:
    distinct = {item for item in items if item is not None}
    return distinct.pop() if len(distinct) == 1 else None
