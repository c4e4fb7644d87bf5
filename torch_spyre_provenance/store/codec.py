"""The JSON border: the only place where bundles become text, and text bundles.

``dumps`` writes the canonical form: the same bundle gives the same bytes.
``loads`` takes nothing on trust: exact types, no unknown keys, bounded sizes, and every
defect named with its ``$.path``.
"""

from __future__ import annotations

import gc
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any, NoReturn, TypeVar

import orjson
from attrs import fields, has
from cattrs import Converter, transform_error
from cattrs.errors import BaseValidationError, ForbiddenExtraKeysError

from ..errors import BundleFormatError, BundleVersionError
from ..model import SCHEMA_VERSION, Bundle, RunFacts
from .exact import kind_of, make_converter
from .limits import MAX_BYTES, MAX_DEFECTS
from .migrations import migrate

_T = TypeVar("_T")
Write = Callable[[bytes], object]
_DEFECTIVE = (
    TypeError,
    ValueError,
    KeyError,
    AttributeError,
    RecursionError,
    BaseValidationError,
    ForbiddenExtraKeysError,
)
_LONG_NAMES = frozenset({"nodes", "ops", "files", "sdsc", "observations"})
_RUN = "run"
_APART = ("schema_version", _RUN)
_NEXT = b",\n"
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
    head, tail = around_run(bundle)
    return b"".join((head, run_text(bundle.run), tail))


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


def around_run(bundle: Bundle) -> tuple[bytearray, bytearray]:
    """Return the two parts of `dumps` between which `run_text` stands.

    Args:
        bundle: The bundle; its `run` counts for nothing.
    """
    head, tail = bytearray(), bytearray()
    head += b'{\n"schema_version": %d' % bundle.schema_version
    with _gc_paused():
        for name in _names(Bundle):
            if name not in _APART:
                part = head if name < _RUN else tail
                part += _NEXT
                _write_row(part.extend, name, getattr(bundle, name))
    head += _NEXT + b'"run": '
    tail += b"\n}\n"
    return head, tail


def run_text(run: RunFacts) -> bytearray:
    """Return the canonical text of a bundle's `run`."""
    text = bytearray()
    with _gc_paused():
        _write(text.extend, run)
    return text


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


def _write_row(write: Write, name: str, value: object) -> None:
    write(b'"%b": ' % name.encode("ascii"))
    _write(write, value)


def _write(write: Write, value: object) -> None:
    """Write JSON in which every item of the long lists stands on its own line.

    A bundle can be large: it never is one tree of plain values.

    Args:
        write: Takes the pieces.
        value: A part of a bundle.
    """
    if type(value) is tuple and value and type(value[0]) is not str:
        before = b"[\n"
        for item in value:
            write(before)
            _write(write, item)
            before = _NEXT
        write(b"\n]")
    else:
        kind: Any = type(value)
        _writer(kind)(write, value)


@cache
def _writer(cls: type) -> Callable[[Write, Any], object]:
    """Return what writes the values of a type that are no long lists themselves."""
    if not has(cls):
        return lambda write, value: write(_json(value))
    names = _names(cls)
    if _LONG_NAMES.isdisjoint(names):
        plain = _fast().get_unstructure_hook(cls)
        return lambda write, value: write(_json(plain(value)))

    def write_rows(write: Write, value: object) -> None:
        before = b"{\n"
        for name in names:
            write(before)
            _write_row(write, name, getattr(value, name))
            before = _NEXT
        write(b"\n}")

    return write_rows


@cache
def _names(cls: type) -> tuple[str, ...]:
    return tuple(sorted(each.name for each in fields(cls)))


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
