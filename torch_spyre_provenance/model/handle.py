"""torch-spyre's `DebugHandle`, and the recipe of its id."""

from __future__ import annotations

from attrs import field, frozen

from .location import SourceLoc


@frozen(kw_only=True)
class ProvenanceTransform:
    """One typed step of an op's rewrite history.

    Attributes:
        kind: ``rewrite``, ``fusion``, ``decomposition``, ``clone`` or ``remap``.
        pass_name: The pass that made the step.
        reason: Why, in the pass's words, or None.
    """

    kind: str
    pass_name: str
    reason: str | None = None


def _is_63_bit(_: object, __: object, value: int) -> None:
    if not 0 <= value < 1 << 63:
        raise ValueError(f"a handle id has 63 bits, not {value}")


@frozen(kw_only=True)
class DebugHandle:
    """A device op's own record of where it came from, as torch-spyre writes it.

    Attributes:
        id: 63-bit content hash (`handle_id`); a decimal string in JSON, because a
            JavaScript number cannot hold it. It names one op within one compile only.
        source: The headline location, or None where the constituents disagree.
        aten_op: Text of the ATen overload, or None.
        ir_chain: Names of the FX origins, sorted, then the buffer's name.
        fused_from: One flat handle per FX origin where there are several.
        transform_history: Typed rewrite steps (torch-spyre of 24 July 2026 and later).
        fusion_context: The one text that older releases had in its place.
    """

    id: int = field(validator=_is_63_bit)
    source: SourceLoc | None
    aten_op: str | None
    ir_chain: tuple[str, ...]
    fused_from: tuple[DebugHandle, ...] = ()
    transform_history: tuple[ProvenanceTransform, ...] = ()
    fusion_context: str | None = None


def handle_id(
    source: SourceLoc | None, aten_op: str | None, ir_chain: tuple[str, ...]
) -> int:
    """Return the id of a handle: a 63-bit hash of its location, operator and chain.

    ``/home/u/model.py:42:0|aten.relu.default|relu,buf2`` gives 6233022986613039509.
    """
    import hashlib  # late: it loads OpenSSL, and few who read handles make ids

    parts = (source.to_str() if source else "", aten_op or "", ",".join(ir_chain))
    digest = hashlib.sha256(_encoded("|".join(parts))).digest()
    return int.from_bytes(digest[:8], "big") >> 1


def _encoded(text: str) -> bytes:
    """Return the bytes of a text, of whatever characters."""
    try:
        # A path's bytes that are no UTF-8 are themselves again.
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogatepass")
