"""torch-spyre's own JSON form of a `DebugHandle`, the value of ``debug_handle_``."""

from __future__ import annotations

from typing import Any

from attrs import asdict

from ..errors import BundleFormatError
from ..model import DebugHandle, ProvenanceTransform, SourceLoc
from .exact import (
    check_handle_depth,
    exact_int,
    exact_list,
    exact_object,
    exact_str,
    handle_number,
)


def handle_json(handle: DebugHandle) -> dict[str, Any]:
    """Return a handle in the shape that torch-spyre writes into ``sdsc_N.json``.

    Args:
        handle: The handle.

    Returns:
        Keys in torch-spyre's order. The last one is ``transform_history``, or
        ``fusion_context`` where the handle has that older text in its place.
    """
    plain: dict[str, Any] = {
        "id": str(handle.id),
        "source": asdict(handle.source) if handle.source else None,
        "aten_op": handle.aten_op,
        "ir_chain": list(handle.ir_chain),
        "fused_from": [handle_json(part) for part in handle.fused_from],
    }
    if handle.transform_history or handle.fusion_context is None:
        history = [asdict(step) for step in handle.transform_history]
        plain["transform_history"] = history
    if handle.fusion_context is not None:
        plain["fusion_context"] = handle.fusion_context
    return plain


def parse_handle(value: object) -> DebugHandle:
    """Read a ``debug_handle_`` as any release of torch-spyre writes it.

    Keys that this release does not know are left out, so that a newer torch-spyre's
    handles can be read.

    Args:
        value: The decoded JSON value. ``transform_history`` and ``fusion_context`` may
            each be absent; an id is a decimal string, or a number in early files.

    Returns:
        The handle.

    Raises:
        BundleFormatError: It is not a handle.
    """
    try:
        check_handle_depth(value)
        return _handle(value)
    except (TypeError, ValueError, KeyError) as error:
        reason = f"missing key {error}" if isinstance(error, KeyError) else str(error)
        raise BundleFormatError(
            f"not a debug_handle_: {reason}", (f"{reason} @ $",)
        ) from error


def _handle(value: object) -> DebugHandle:
    plain = exact_object(value)
    number = plain["id"]
    context = plain.get("fusion_context")
    return DebugHandle(
        id=number if type(number) is int else handle_number(number),
        source=_source(plain["source"]),
        aten_op=_optional_text(plain["aten_op"]),
        ir_chain=tuple([exact_str(name) for name in _list(plain["ir_chain"])]),
        fused_from=tuple([_handle(part) for part in _list(plain.get("fused_from"))]),
        transform_history=tuple(
            [_transform(step) for step in _list(plain.get("transform_history"))]
        ),
        fusion_context=_optional_text(context),
    )


def _source(value: object) -> SourceLoc | None:
    if value is None:
        return None
    plain = exact_object(value)
    return SourceLoc(
        file=exact_str(plain["file"]),
        start_line=exact_int(plain["start_line"]),
        start_col=exact_int(plain.get("start_col", 0)),
        end_line=_optional_number(plain.get("end_line")),
        end_col=_optional_number(plain.get("end_col")),
    )


def _transform(value: object) -> ProvenanceTransform:
    plain = exact_object(value)
    return ProvenanceTransform(
        kind=exact_str(plain["kind"]),
        pass_name=exact_str(plain["pass_name"]),
        reason=_optional_text(plain.get("reason")),
    )


def _list(value: object) -> list[Any]:
    return [] if value is None else exact_list(value)


def _optional_text(value: object) -> str | None:
    return None if value is None else exact_str(value)


def _optional_number(value: object) -> int | None:
    return None if value is None else exact_int(value)
