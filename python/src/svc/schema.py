"""Converts type hints to JSON Schema. ``conversion.py`` converts values."""

from __future__ import annotations

import dataclasses
import enum
import types
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any, Literal, TypeGuard, Union, get_args, get_origin, get_type_hints

from .definitions import Definitions

Schema = dict[str, object]

_BUILTIN: dict[object, Schema] = {
    str: {"type": "string"},
    int: {"type": "integer"},
    float: {"type": "number"},
    bool: {"type": "boolean"},
    None: {"type": "null"},
    type(None): {"type": "null"},
    list: {"type": "array"},
    tuple: {"type": "array"},
    dict: {"type": "object"},
}


@dataclasses.dataclass(frozen=True, slots=True)
class _Place:
    """Where in the hint a type stands.

    Attributes:
        inside: The classes around it, to find recursive ones.
        definitions: Those of the whole schema.
    """

    inside: tuple[object, ...]
    definitions: Definitions


def schema_of(hint: object) -> Schema | None:
    """Returns the JSON Schema of a type hint, or None if it has no JSON Schema. Never raises."""
    try:
        place = _Place((), Definitions())
        schema = _schema(hint, place)
        definitions = place.definitions.schemas
        if not schema:
            return None
        return {**schema, "$defs": definitions} if definitions else schema
    except Exception:  # noqa: BLE001 - hints are arbitrary objects; an unreadable hint is only left out
        return None


def _schema(hint: object, place: _Place) -> Schema:
    """Returns an empty schema, which permits any value, for unknown types."""
    if isinstance(hint, type) or hint is None:
        known = _BUILTIN.get(hint)
        if known is not None:
            return dict(known)
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Annotated:
        schema = _schema(arguments[0], place)
        text = next((note for note in arguments[1:] if isinstance(note, str)), None)
        return schema if text is None else {**schema, "description": text}
    if _form(origin) in ("Required", "NotRequired", "ReadOnly"):
        return _schema(arguments[0], place)
    if origin is Literal:
        return {"enum": [value.value if isinstance(value, enum.Enum) else value for value in arguments]}
    if origin is Union or origin is types.UnionType:
        return _union(arguments, place)
    if isinstance(origin, type):
        return _generic(origin, arguments, place)
    if is_class(hint):
        return _class(hint, place)
    return {}


def _union(members: Sequence[object], place: _Place) -> Schema:
    schemas = [_schema(member, place) for member in members]
    # A union with an unknown member is unknown.
    return {"anyOf": schemas} if all(schemas) else {}


def _generic(origin: type, arguments: Sequence[object], place: _Place) -> Schema:
    if issubclass(origin, tuple):
        if len(arguments) == 2 and arguments[1] is Ellipsis:
            return _array(arguments[0], place)
        count = len(arguments)
        items = [_schema(argument, place) for argument in arguments]
        return {"type": "array", "prefixItems": items, "minItems": count, "maxItems": count}
    if issubclass(origin, Mapping):
        values = _schema(arguments[1], place) if len(arguments) == 2 else {}
        return {"type": "object", "additionalProperties": values} if values else {"type": "object"}
    if issubclass(origin, Sequence) or (issubclass(origin, Iterable) and not issubclass(origin, (set, frozenset))):
        return _array(arguments[0] if arguments else Any, place)
    return {}


def _array(item: object, place: _Place) -> Schema:
    items = _schema(item, place)
    return {"type": "array", "items": items} if items else {"type": "array"}


def _class(hint: type, place: _Place) -> Schema:
    if hint in place.inside:  # a recursive type: its inner occurrences are any object
        return {"type": "object"}
    place = _Place((*place.inside, hint), place.definitions)
    if issubclass(hint, enum.Enum):
        return {"enum": [member.value for member in hint]}
    model_json_schema = getattr(hint, "model_json_schema", None)
    if callable(model_json_schema):
        schema = model_json_schema()
        return place.definitions.move(schema) if isinstance(schema, dict) else {}
    if dataclasses.is_dataclass(hint):
        hints = get_type_hints(hint, include_extras=True)
        fields = [field for field in dataclasses.fields(hint) if field.init]
        properties = {field.name: _schema(hints.get(field.name, Any), place) for field in fields}
        return _object(hint, properties, [field.name for field in fields if is_required(field)])
    if is_typed_dict(hint):
        hints = get_type_hints(hint, include_extras=True)
        properties = {name: _schema(member, place) for name, member in hints.items()}
        return _object(
            hint, properties, [name for name, member in hints.items() if _is_key_required(hint, name, member)]
        )
    return {}


def _object(hint: type, properties: dict[str, Schema], required: list[str]) -> Schema:
    schema: Schema = {"type": "object", "title": hint.__name__, "properties": properties}
    if required:
        schema["required"] = required
    return schema


def is_class(hint: object) -> TypeGuard[type]:
    # On Python 3.10 `list[int]` counts as an instance of `type` too.
    return isinstance(hint, type) and get_origin(hint) is None


def is_typed_dict(hint: object) -> bool:
    # Checked by attribute, since typing_extensions has its own TypedDict.
    return is_class(hint) and issubclass(hint, dict) and hasattr(hint, "__total__")


def _is_key_required(hint: type, name: str, member: object) -> bool:
    form = _form(get_origin(member))
    if form in ("Required", "NotRequired"):
        # If annotations are strings, __required_keys__ ignores these forms, but the evaluated hint has them.
        return form == "Required"
    return name in getattr(hint, "__required_keys__", ())


def _form(origin: object) -> str:
    """Returns the name of a special form. typing and typing_extensions have different objects of the same name."""
    return "" if origin is None or isinstance(origin, type) else str(getattr(origin, "_name", ""))


def is_required(field: dataclasses.Field[Any]) -> bool:
    return field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
