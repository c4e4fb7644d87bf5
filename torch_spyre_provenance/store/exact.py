"""Converters between model values and plain JSON values, exact in both directions.

cattrs coerces on its own (``3`` becomes ``"3"``); the hooks here refuse instead, so
that a value that is read back is the value that was written.
"""

from __future__ import annotations

import types
from collections.abc import Callable
from enum import StrEnum
from typing import Any, get_args, get_origin

import orjson
from cattrs import Converter
from cattrs.fns import identity
from cattrs.gen import make_dict_structure_fn, make_dict_unstructure_fn, override

from ..model import (
    CacheState,
    CompileKind,
    DebugHandle,
    Dim,
    Field,
    Frame,
    FromNode,
    ModuleCall,
    Presence,
    Redaction,
    SourceFn,
    Stage,
)
from .limits import MAX_HANDLE_DEPTH, MAX_ITEMS, MAX_STRING

Hook = Callable[[Any, Any], Any]

_INT_BITS = 63
_ID_DIGITS = 19
_ENUMS = (CacheState, CompileKind, Presence, Redaction, Stage)
_REPEATED = (Dim, Field, Frame, FromNode, ModuleCall, SourceFn)
_SHARED = (Field, ModuleCall)
"""Whose tuples are the same few objects all over a bundle."""

_SHARED_VALUES = 1 << 14


def make_converter(*, list_defects: bool) -> Converter:
    """Return a converter for every class of the model.

    Args:
        list_defects: Go on after a defect and collect them all with their paths, which
            is slow; otherwise stop at the first.

    Returns:
        A converter that raises `TypeError`, `ValueError`, `KeyError` or one of cattrs'
        validation errors. Its plain values still hold tuples and string enums, which
        JSON writers take for lists and strings.
    """
    converter = Converter(forbid_extra_keys=True, detailed_validation=list_defects)
    for scalar, hook in _SCALARS.items():
        converter.register_structure_hook(scalar, hook)
    for enum in _ENUMS:
        # One by one: cattrs' hook for `str` would take string enums as well.
        converter.register_structure_hook(enum, _structure_enum)
    converter.register_structure_hook_func(_is_pair, _structure_pair)
    converter.register_structure_hook_factory(
        _is_sequence,
        lambda cls: _sequence_hook(converter, cls, list_defects=list_defects),
    )
    converter.register_structure_hook_factory(
        _is_optional, lambda cls: _optional_hook(converter, cls)
    )
    if not list_defects:
        converter.register_structure_hook_func(_is_strings, _structure_strings)
    converter.register_unstructure_hook_factory(
        _is_sequence, lambda cls: _sequence_writer(converter, cls)
    )
    # `identity` itself: cattrs generates no call for it.
    for enum in _ENUMS:
        converter.register_unstructure_hook(enum, identity)
    converter.register_unstructure_hook_func(_is_plain, identity)
    _register_handle(converter)
    return converter


def kind_of(value: object) -> str:
    """Return what JSON calls the kind of a value, for messages."""
    if value is None:
        return "null"
    names = {dict: "an object", list: "a list", str: "a string", bool: "a truth value"}
    return names.get(type(value), "a number")


def exact_str(value: Any, _: object = None) -> str:
    """Return a value that is a string, and no longer than the reader allows.

    Raises:
        TypeError: It is something else.
        ValueError: It is too long.
    """
    if type(value) is not str:
        raise TypeError(f"expected a string, found {kind_of(value)}")
    if len(value) > MAX_STRING:
        raise ValueError(f"a string of {len(value)} characters; {MAX_STRING} is most")
    return value


def exact_int(value: Any, _: object = None) -> int:
    """Return a value that is an integer of at most 63 bits and no truth value.

    Raises:
        TypeError: It is something else.
        ValueError: It is too large.
    """
    if type(value) is not int:
        raise TypeError(f"expected an integer, found {kind_of(value)}")
    if value.bit_length() > _INT_BITS:
        raise ValueError(f"an integer of more than {_INT_BITS} bits")
    return value


def exact_object(value: Any) -> dict[str, Any]:
    """Return a value that is a JSON object.

    Raises:
        TypeError: It is something else.
    """
    if type(value) is not dict:
        raise TypeError(f"expected an object, found {kind_of(value)}")
    return value


def _structure_bool(value: Any, _: object = None) -> bool:
    if type(value) is not bool:
        raise TypeError(f"expected true or false, found {kind_of(value)}")
    return value


_SCALARS: dict[Any, Hook] = {
    str: exact_str,
    int: exact_int,
    bool: _structure_bool,
}


def _structure_enum(value: Any, cls: Any) -> StrEnum:
    member = cls._value2member_map_.get(value) if type(value) is str else None
    if member is None:
        known = ", ".join(member.value for member in cls)
        found = repr(value[:40]) if type(value) is str else kind_of(value)
        raise ValueError(f"expected one of {known}; found {found}")
    return member  # type: ignore[no-any-return]


def _is_strings(cls: object) -> bool:
    return get_origin(cls) is tuple and get_args(cls) == (str, ...)


def _is_optional(cls: object) -> bool:
    return len(get_args(cls)) == 2 and type(None) in get_args(cls)


def _structure_strings(value: Any, _: object) -> tuple[str, ...]:
    if type(value) is list and len(value) <= MAX_ITEMS:
        for item in value:
            if type(item) is not str or len(item) > MAX_STRING:
                break
        else:
            return tuple(value)
    return tuple([exact_str(item) for item in exact_list(value)])


def _is_plain(cls: object) -> bool:
    """Return whether JSON writers take the values of a type as they are."""
    if cls in _SCALARS:
        return True
    if _is_optional(cls) or _is_sequence(cls):
        parts = (arg for arg in get_args(cls) if arg not in (types.NoneType, ...))
        return all(map(_is_plain, parts))
    return _is_pair(cls)


def _is_pair(cls: object) -> bool:
    return get_origin(cls) is tuple and get_args(cls) == (str, str)


def _structure_pair(value: Any, _: object) -> tuple[str, str]:
    items = exact_list(value)
    if len(items) != 2:
        raise ValueError(f"expected a pair, found a list of {len(items)}")
    return exact_str(items[0]), exact_str(items[1])


def _is_sequence(cls: object) -> bool:
    return get_origin(cls) is tuple and get_args(cls)[-1] is ...


def _sequence_hook(converter: Converter, cls: Any, *, list_defects: bool) -> Hook:
    item = get_args(cls)[0]
    wanted: Any = types.GenericAlias(list, (item,)) if list_defects else item
    found: list[Hook] = []

    def structure(value: Any, _: object) -> tuple[Any, ...]:
        if not found:
            # Looked up at the first use: a handle holds handles.
            found.append(converter.get_structure_hook(wanted))
        entries, hook = exact_list(value), found[0]
        if not entries:
            return ()
        if list_defects:
            return tuple(hook(entries, wanted))
        return tuple([hook(entry, item) for entry in entries])

    return structure if item not in _REPEATED or list_defects else _shared(structure)


def _shared(structure: Hook) -> Hook:
    """Build equal lists once: the same few make up most of a bundle."""
    cache: dict[bytes, Any] = {}

    def share(value: Any, cls: object) -> Any:
        try:
            key = orjson.dumps(value)
        except TypeError:
            # A lone surrogate, which a Linux path can hold.
            return structure(value, cls)
        known = cache.get(key)
        if known is None:
            known = structure(value, cls)
            if len(cache) < _SHARED_VALUES:
                cache[key] = known
        return known

    return share


def _optional_hook(converter: Converter, cls: Any) -> Hook:
    inner = next(arg for arg in get_args(cls) if arg is not type(None))
    hook = converter.get_structure_hook(inner)
    return lambda value, _: None if value is None else hook(value, inner)


def _sequence_writer(converter: Converter, cls: Any) -> Callable[[Any], list[Any]]:
    item = get_args(cls)[0]
    found: list[Callable[[Any], Any]] = []

    def unstructure(values: Any) -> list[Any]:
        if not values:
            return []
        if not found:
            found.append(converter.get_unstructure_hook(item))
        write = found[0]
        return [write(value) for value in values]

    return _once(unstructure) if item in _SHARED else unstructure


def _once(unstructure: Callable[[Any], list[Any]]) -> Callable[[Any], list[Any]]:
    """Write each object once, and return the very same list for it again."""
    known: dict[int, tuple[Any, list[Any]]] = {}

    def write(values: Any) -> list[Any]:
        # The entry keeps the object: nothing else can have its identity.
        entry = known.get(id(values))
        if entry is None:
            if len(known) == _SHARED_VALUES:
                known.clear()
            entry = known[id(values)] = (values, unstructure(values))
        return entry[1]

    return write


def exact_list(value: Any) -> list[Any]:
    """Return a value that is a list, and no longer than the reader allows.

    Raises:
        TypeError: It is something else.
        ValueError: It is too long.
    """
    if type(value) is not list:
        raise TypeError(f"expected a list, found {kind_of(value)}")
    if len(value) > MAX_ITEMS:
        raise ValueError(f"a list of {len(value)} items; {MAX_ITEMS} is most")
    return value


def _register_handle(converter: Converter) -> None:
    """Write a handle's id as a decimal string, and bound the depth of its history."""
    as_text = override(struct_hook=handle_number, unstruct_hook=str)
    plain = make_dict_structure_fn(
        DebugHandle,
        converter,
        _cattrs_forbid_extra_keys=True,
        _cattrs_detailed_validation=converter.detailed_validation,
        id=as_text,
    )

    def structure(value: Any, cls: Any) -> DebugHandle:
        check_handle_depth(value)
        return plain(value, cls)

    converter.register_structure_hook(DebugHandle, structure)
    converter.register_unstructure_hook(
        DebugHandle, make_dict_unstructure_fn(DebugHandle, converter, id=as_text)
    )


def handle_number(value: Any, _: object = None) -> int:
    """Return the number that a decimal string in its one canonical form stands for.

    Raises:
        TypeError: It is no string.
        ValueError: It is no such number.
    """
    text = exact_str(value)
    if not (text.isascii() and text.isdigit() and len(text) <= _ID_DIGITS):
        raise ValueError(f"expected a decimal number, found {text[:40]!r}")
    if text != str(int(text)):
        raise ValueError(f"expected a number without leading zeros, found {text!r}")
    return int(text)


def check_handle_depth(value: object) -> None:
    """Refuse a handle whose constituents are nested deeper than any compiler makes.

    Args:
        value: The handle's JSON value, whatever it is.

    Raises:
        ValueError: It is nested more than `MAX_HANDLE_DEPTH` deep.
    """
    level = [value]
    for _ in range(MAX_HANDLE_DEPTH):
        level = [part for handle in level for part in _constituents(handle)]
        if not level:
            return
    raise ValueError(f"handles nested more than {MAX_HANDLE_DEPTH} deep")


def _constituents(handle: object) -> list[object]:
    parts = handle.get("fused_from") if type(handle) is dict else None
    return parts if type(parts) is list else []
