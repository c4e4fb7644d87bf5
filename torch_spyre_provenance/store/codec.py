"""The JSON border: the only place where bundles become text, and text bundles.

``dumps`` writes the canonical form: the same bundle gives the same bytes.
``loads`` takes nothing on trust: exact types, no unknown keys, bounded sizes, and every
defect named with its ``$.path``.
``pack`` and ``unpack`` carry a compile's part of a bundle inside generated source code.
"""

from __future__ import annotations

import binascii
import gc
import json
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any, NoReturn, TypeVar

import orjson
from attrs import evolve
from cattrs import Converter, transform_error
from cattrs.errors import BaseValidationError, ForbiddenExtraKeysError

from ..errors import BundleFormatError, BundleVersionError
from ..model import (
    SCHEMA_VERSION,
    Bundle,
    CacheState,
    RunFacts,
)
from .exact import kind_of, make_converter
from .limits import MAX_BYTES, MAX_DEFECTS
from .migrations import migrate

_T = TypeVar("_T")
_DEFECTIVE = (
    TypeError,
    ValueError,
    KeyError,
    AttributeError,
    RecursionError,
    BaseValidationError,
    ForbiddenExtraKeysError,
)
_NO_RUN = RunFacts(
    name="", compile_id=None, cache=CacheState.HIT, time="", host="", pid=0
)
_LONG_KEYS = frozenset({"nodes", "ops", "files", "sdsc", "observations"})
_PACK_LEVEL = 6
_TOO_DEEP = "nested too deeply"


def dumps(bundle: Bundle) -> bytes:
    r"""Return the canonical JSON text of a bundle.

    ``schema_version`` comes first, other keys are sorted, and every node, operation,
    op, file and frame has a line of its own.

    Args:
        bundle: The bundle to write.

    Returns:
        UTF-8 text that ends in a newline. Text that is no valid UTF-8 (a Linux path can
        hold it) is written as ``\udc80`` escapes.
    """
    with _gc_paused():
        return _text(bundle)


def loads(data: bytes, source: str = "bundle.json") -> Bundle:
    """Read a bundle that `dumps` wrote, from anyone.

    Args:
        data: The file's bytes.
        source: What to call them in messages.

    Returns:
        The bundle.

    Raises:
        BundleVersionError: A newer release wrote it.
        BundleFormatError: It is not a bundle, not a whole one, or over the bounds of
            `store.limits`; `defects` lists what is wrong and where.
    """
    with _gc_paused():
        return _bundle(_parse(data, source), source)


def pack(bundle: Bundle) -> str:
    """Return a bundle without its `run` as compact text for generated source code.

    Args:
        bundle: The bundle to pack.

    Returns:
        ASCII letters, digits, ``+``, ``/`` and ``=`` only.
    """
    with _gc_paused():
        plain = _fast().unstructure(bundle)
        del plain["run"]
        data = zlib.compress(_json(plain), _PACK_LEVEL)
    # Base 64 is 7 % longer than base 85, which Python encodes a hundred times slower.
    return binascii.b2a_base64(data, newline=False).decode("ascii")


def unpack(text: str, run: RunFacts) -> Bundle:
    """Return the bundle that `pack` packed, with the facts of this run.

    Args:
        text: What `pack` returned.
        run: The facts of the present run.

    Returns:
        The bundle.

    Raises:
        BundleFormatError: The text is not what `pack` returns.
    """
    source = "the embedded record"
    with _gc_paused():
        plain = _parse(_inflate(text, source), source)
        plain["run"] = orjson.loads(_json(_fast().unstructure(_NO_RUN)))
        return evolve(_bundle(plain, source), run=run)


def defects_of(error: BaseException) -> list[str]:
    """Return one line for each defect that a converter found, each with its path."""
    if isinstance(error, BaseValidationError):
        return transform_error(error, "$", _describe)
    return [f"{_describe(error, None)} @ $"]


@cache
def _fast() -> Converter:
    return make_converter(list_defects=False)


@cache
def _thorough() -> Converter:
    return make_converter(list_defects=True)


@contextmanager
def _gc_paused() -> Iterator[None]:
    # A bundle is many small live objects and no garbage; letting the collector walk
    # them again and again takes longer than the conversion itself.
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _text(bundle: Bundle) -> bytes:
    plain = _fast().unstructure(bundle)
    version = plain.pop("schema_version")
    rows = [_row(key, plain[key]) for key in sorted(plain)]
    return b",\n".join([b'{\n"schema_version": %d' % version, *rows]) + b"\n}\n"


def _bundle(plain: dict[str, Any], source: str) -> Bundle:
    _check_version(plain, source)
    return _checked(_structure(migrate(plain), Bundle, source), source)


def _json(value: object) -> bytes:
    try:
        return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
    except TypeError:
        # orjson refuses lone surrogates.
        text = json.dumps(value, sort_keys=True, separators=(",", ":"))
        return text.encode("ascii")


def _row(key: str, value: object) -> bytes:
    return _json(key) + b": " + _expanded(value)


def _expanded(value: object) -> bytes:
    """Return JSON in which every item of the long lists stands on its own line."""
    if type(value) is dict and not _LONG_KEYS.isdisjoint(value):
        rows = [_row(name, value[name]) for name in sorted(value)]
        return b"{\n" + b",\n".join(rows) + b"\n}"
    if isinstance(value, tuple | list) and value and type(value[0]) is not str:
        return b"[\n" + b",\n".join([_expanded(item) for item in value]) + b"\n]"
    return _json(value)


def _inflate(text: str, source: str) -> bytes:
    try:
        packed = binascii.a2b_base64(text, strict_mode=True)
        inflater = zlib.decompressobj()
        data = inflater.decompress(packed, MAX_BYTES)
    except (ValueError, zlib.error) as error:
        raise BundleFormatError(f"{source} cannot be unpacked: {error}") from error
    if not inflater.eof:
        raise BundleFormatError(f"{source} is cut off, or over {MAX_BYTES} bytes")
    return data


def _parse(data: bytes, source: str) -> dict[str, Any]:
    if len(data) > MAX_BYTES:
        raise BundleFormatError(f"{source} is larger than {MAX_BYTES} bytes")
    try:
        plain = _parse_any(data)
    except (ValueError, RecursionError) as error:
        reason = _TOO_DEEP if isinstance(error, RecursionError) else str(error)
        raise BundleFormatError(
            f"{source} is not JSON: {reason}", (f"{reason} @ $",)
        ) from error
    if type(plain) is not dict:
        found = f"expected an object, found {kind_of(plain)}"
        raise BundleFormatError(f"{source} is not a bundle: {found}", (f"{found} @ $",))
    return plain


def _parse_any(data: bytes) -> object:
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError:
        if b"\\ud" not in data and b"\\uD" not in data:
            raise
        return json.loads(data)


def _check_version(plain: dict[str, Any], source: str) -> None:
    version = plain.get("schema_version")
    if type(version) is not int or version < 1:
        found = kind_of(version)
        defect = f"expected a version number, found {found} @ $.schema_version"
        raise BundleFormatError(f"{source} is not a bundle: no version", (defect,))
    if version > SCHEMA_VERSION:
        raise BundleVersionError(
            f"{source} has schema version {version}; this release reads versions up to "
            f"{SCHEMA_VERSION}: upgrade torch_spyre_provenance",
            (f"unknown version {version} @ $.schema_version",),
        )


def _structure(plain: object, cls: type[_T], source: str) -> _T:
    try:
        return _fast().structure(plain, cls)
    except _DEFECTIVE as error:
        _refuse(_find_defects(plain, cls, error), source, error)


def _checked(bundle: Bundle, source: str) -> Bundle:
    """Return a bundle whose stack indices all lead somewhere."""
    n_stacks = len(bundle.stacks)
    defects = [
        f"there is no stack {index} @ {path}.stack"
        for path, index in _stack_indices(bundle)
        if index is not None and not 0 <= index < n_stacks
    ]
    if defects:
        _refuse(defects, source)
    return bundle


def _stack_indices(bundle: Bundle) -> Iterator[tuple[str, int | None]]:
    fx = {"fx_pre_grad": bundle.fx_pre_grad, "fx_post_grad": bundle.fx_post_grad}
    ir = {"loop_ir_pre": bundle.loop_ir_pre, "loop_ir_post": bundle.loop_ir_post}
    for name, graph in (fx | ir).items():
        for number, node in enumerate(graph.nodes if graph else ()):
            yield f"$.{name}.nodes[{number}]", node.stack
    for number, replaced in enumerate(bundle.replacements):
        yield f"$.replacements[{number}]", replaced.stack


def _refuse(
    defects: list[str], source: str, cause: BaseException | None = None
) -> NoReturn:
    more = f" (and {len(defects) - 1} more)" if len(defects) > 1 else ""
    shown = defects[:MAX_DEFECTS]
    if len(defects) > MAX_DEFECTS:
        shown.append(f"{len(defects) - MAX_DEFECTS} more defects @ $")
    raise BundleFormatError(
        f"{source} is not a whole bundle: {defects[0]}{more}", shown
    ) from cause


def _find_defects(plain: object, cls: type, first: BaseException) -> list[str]:
    """Convert once more, without stopping, to learn of every defect."""
    try:
        _thorough().structure(plain, cls)
    except _DEFECTIVE as error:
        return defects_of(error)
    return defects_of(first)


def _describe(error: BaseException, _: object) -> str:
    if isinstance(error, KeyError):
        return f"missing key {error}"
    if isinstance(error, ForbiddenExtraKeysError):
        keys = sorted(repr(key[:40]) for key in error.extra_fields)
        return f"unknown key {', '.join(keys[:5])}"
    if isinstance(error, RecursionError):
        return _TOO_DEEP
    text = error.args[0] if error.args else type(error).__name__
    return " ".join(str(text).split())[:200]
