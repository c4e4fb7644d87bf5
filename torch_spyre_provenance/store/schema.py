"""The JSON Schema of bundles, made from the classes of the model.

``schemas/bundle-2.json`` is what ships; a test keeps it equal to what this makes. The
schemas of older versions ship as they were.
"""

from __future__ import annotations

import json
import re
from enum import StrEnum
from importlib import resources
from inspect import cleandoc
from types import NoneType
from typing import Any, get_args, get_origin, get_type_hints

from attrs import NOTHING, Attribute, fields, has

from ..model import SCHEMA_VERSION, Bundle, DebugHandle

_ENTRY = re.compile(r"^    (\w+): (.*(?:\n {8}.*)*)", re.MULTILINE)
_HANDLE_ID = {"type": "string", "pattern": "^(0|[1-9][0-9]{0,18})$"}
_SCALARS: dict[Any, dict[str, Any]] = {
    str: {"type": "string"},
    int: {"type": "integer"},
    bool: {"type": "boolean"},
}


def shipped_schema(version: int = SCHEMA_VERSION) -> dict[str, Any]:
    """Return the schema that is shipped for a version of the format.

    Args:
        version: One that this package ever wrote; by default the present one.
    """
    name = f"schemas/bundle-{version}.json"
    text = resources.files(__package__).joinpath(name).read_text("utf-8")
    schema: dict[str, Any] = json.loads(text)
    return schema


def build_schema() -> dict[str, Any]:
    """Return the schema of the model as it stands, JSON Schema 2020-12."""
    defs: dict[str, Any] = {}
    root = _object(Bundle, defs)
    root["properties"]["schema_version"]["const"] = SCHEMA_VERSION
    root["required"] = sorted({*root["required"], "schema_version"})
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "torch_spyre_provenance bundle",
        **root,
        "$defs": dict(sorted(defs.items())),
    }


def _object(cls: Any, defs: dict[str, Any]) -> dict[str, Any]:
    types = get_type_hints(cls)
    texts = _attribute_texts(cls)
    return {
        "type": "object",
        "description": cleandoc(cls.__doc__ or "").partition("\n")[0],
        "properties": {
            each.name: _property(cls, each, types[each.name], texts, defs)
            for each in fields(cls)
        },
        "required": sorted(
            each.name for each in fields(cls) if each.default is NOTHING
        ),
        "additionalProperties": False,
    }


def _property(
    cls: Any,
    attribute: Attribute[Any],
    kind: Any,
    texts: dict[str, str],
    defs: dict[str, Any],
) -> dict[str, Any]:
    is_id = cls is DebugHandle and attribute.name == "id"
    schema = dict(_HANDLE_ID) if is_id else _schema(kind, defs)
    lowest = getattr(attribute.validator, "bound", None)
    if lowest is not None:
        schema["minimum"] = lowest
    if attribute.name in texts:
        schema["description"] = texts[attribute.name]
    return schema


def _schema(kind: Any, defs: dict[str, Any]) -> dict[str, Any]:
    if kind in _SCALARS:
        return dict(_SCALARS[kind])
    if isinstance(kind, type) and issubclass(kind, StrEnum):
        return {"enum": [member.value for member in kind]}
    if has(kind):
        if kind.__name__ not in defs:
            defs[kind.__name__] = {}
            defs[kind.__name__].update(_object(kind, defs))
        return {"$ref": f"#/$defs/{kind.__name__}"}
    args = get_args(kind)
    if get_origin(kind) is tuple:
        return _array(args, defs)
    inner = next(arg for arg in args if arg is not NoneType)
    return {"anyOf": [_schema(inner, defs), {"type": "null"}]}


def _array(args: tuple[Any, ...], defs: dict[str, Any]) -> dict[str, Any]:
    if args[-1] is ...:
        return {"type": "array", "items": _schema(args[0], defs)}
    return {
        "type": "array",
        "prefixItems": [_schema(arg, defs) for arg in args],
        "minItems": len(args),
        "maxItems": len(args),
    }


def _attribute_texts(cls: Any) -> dict[str, str]:
    """Return what a class's docstring says of each attribute."""
    text = cleandoc(cls.__doc__ or "").partition("Attributes:\n")[2]
    return {name: " ".join(words.split()) for name, words in _ENTRY.findall(text)}
