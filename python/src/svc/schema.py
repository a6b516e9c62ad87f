"""Converts type hints to JSON Schema, and JSON values to the types of hints."""

from __future__ import annotations

import dataclasses
import enum
import types
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any, Literal, TypeGuard, Union, get_args, get_origin, get_type_hints

from .errors import CallError

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


def schema_of(hint: object) -> Schema | None:
    """Returns the JSON Schema of a type hint, or None if it has no JSON Schema. Never raises."""
    try:
        return _schema(hint, ()) or None
    except Exception:  # noqa: BLE001 - hints are arbitrary objects; an unreadable hint is only left out
        return None


def _schema(hint: object, inside: tuple[object, ...]) -> Schema:
    """Returns an empty schema, which permits any value, for unknown types."""
    if isinstance(hint, type) or hint is None:
        known = _BUILTIN.get(hint)
        if known is not None:
            return dict(known)
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Annotated:
        schema = _schema(arguments[0], inside)
        text = next((note for note in arguments[1:] if isinstance(note, str)), None)
        return schema if text is None else {**schema, "description": text}
    if _form(origin) in ("Required", "NotRequired", "ReadOnly"):
        return _schema(arguments[0], inside)
    if origin is Literal:
        return {"enum": [value.value if isinstance(value, enum.Enum) else value for value in arguments]}
    if origin is Union or origin is types.UnionType:
        return _union(arguments, inside)
    if isinstance(origin, type):
        return _generic(origin, arguments, inside)
    if is_class(hint):
        return _class(hint, inside)
    return {}


def _union(members: Sequence[object], inside: tuple[object, ...]) -> Schema:
    schemas = [_schema(member, inside) for member in members]
    # A union with an unknown member is unknown.
    return {"anyOf": schemas} if all(schemas) else {}


def _generic(origin: type, arguments: Sequence[object], inside: tuple[object, ...]) -> Schema:
    if issubclass(origin, tuple):
        if len(arguments) == 2 and arguments[1] is Ellipsis:
            return _array(arguments[0], inside)
        count = len(arguments)
        items = [_schema(argument, inside) for argument in arguments]
        return {"type": "array", "prefixItems": items, "minItems": count, "maxItems": count}
    if issubclass(origin, Mapping):
        values = _schema(arguments[1], inside) if len(arguments) == 2 else {}
        return {"type": "object", "additionalProperties": values} if values else {"type": "object"}
    if issubclass(origin, Sequence) or (issubclass(origin, Iterable) and not issubclass(origin, (set, frozenset))):
        return _array(arguments[0] if arguments else Any, inside)
    return {}


def _array(item: object, inside: tuple[object, ...]) -> Schema:
    items = _schema(item, inside)
    return {"type": "array", "items": items} if items else {"type": "array"}


def _class(hint: type, inside: tuple[object, ...]) -> Schema:
    if hint in inside:  # a recursive type: its inner occurrences are any object
        return {"type": "object"}
    inside = (*inside, hint)
    if issubclass(hint, enum.Enum):
        return {"enum": [member.value for member in hint]}
    model_json_schema = getattr(hint, "model_json_schema", None)
    if callable(model_json_schema):
        schema = model_json_schema()
        return dict(schema) if isinstance(schema, dict) else {}
    if dataclasses.is_dataclass(hint):
        hints = get_type_hints(hint, include_extras=True)
        fields = [field for field in dataclasses.fields(hint) if field.init]
        properties = {field.name: _schema(hints.get(field.name, Any), inside) for field in fields}
        return _object(hint, properties, [field.name for field in fields if _is_required(field)])
    if is_typed_dict(hint):
        hints = get_type_hints(hint, include_extras=True)
        properties = {name: _schema(member, inside) for name, member in hints.items()}
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


def _is_required(field: dataclasses.Field[Any]) -> bool:
    return field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING


# ---- values


def wants_conversion(hint: object) -> bool:
    """Returns True for dataclasses and pydantic models. Other hints leave the JSON value unchanged."""
    if not is_class(hint):
        return any(wants_conversion(member) for member in get_args(hint)) and get_origin(hint) is not Literal
    return dataclasses.is_dataclass(hint) or callable(getattr(hint, "model_validate", None))


def convert(value: object, hint: object, path: str = "") -> object:
    """Converts a JSON value to an instance of the hint. Drops members that are unknown to a dataclass.

    Raises:
        CallError: ``invalid_input``, naming the member that does not match.
    """
    if is_class(hint):
        return _convert_class(value, hint, path)
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return convert(value, arguments[0], path)
    if origin is Union or origin is types.UnionType:
        return _convert_union(value, arguments, path)
    if origin is Literal:
        if any(value == literal and type(value) is type(literal) for literal in arguments):
            return value
        raise _mismatch(path, f"one of {', '.join(map(repr, arguments))}", value)
    if hint is None:
        return _convert_class(value, type(None), path)
    if isinstance(origin, type):
        return _convert_generic(value, origin, arguments, path)
    return value


def _convert_class(value: object, hint: type, path: str) -> object:
    if hint is bool or hint is str or hint is type(None):
        if isinstance(value, hint):
            return value
        raise _mismatch(path, {bool: "a boolean", str: "a string"}.get(hint, "null"), value)
    if hint is int or hint is float:
        return _convert_number(value, hint, path)
    if issubclass(hint, enum.Enum):
        try:
            return hint(value)
        except ValueError:
            raise _mismatch(path, f"one of {', '.join(repr(member.value) for member in hint)}", value) from None
    validate = getattr(hint, "model_validate", None)
    if callable(validate):
        try:
            return validate(value)
        except Exception as cause:
            raise CallError("invalid_input", f"{_shown(path)} does not fit {hint.__name__}: {cause}") from cause
    if dataclasses.is_dataclass(hint):
        return _convert_dataclass(value, hint, path)
    if hint is dict or is_typed_dict(hint):
        if isinstance(value, dict):
            return value
        raise _mismatch(path, "an object", value)
    if hint is list or hint is tuple:
        if isinstance(value, list):
            return hint(value)
        raise _mismatch(path, "an array", value)
    return value


def _convert_number(value: object, hint: type, path: str) -> object:
    if not isinstance(value, bool):
        if hint is float and isinstance(value, (int, float)):
            try:
                return float(value)
            except OverflowError:
                raise _mismatch(path, "a number that a float can hold", value) from None
        if isinstance(value, int):
            return value
        if isinstance(value, float) and value.is_integer():  # JSON has one kind of number: 3.0 is an integer
            return int(value)
    raise _mismatch(path, "a number" if hint is float else "an integer", value)


def _convert_dataclass(value: object, hint: type, path: str) -> object:
    if not isinstance(value, dict):
        raise _mismatch(path, "an object", value)
    hints = get_type_hints(hint, include_extras=True)
    arguments: dict[str, object] = {}
    for field in dataclasses.fields(hint):
        if not field.init:
            continue
        if field.name in value:
            arguments[field.name] = convert(value[field.name], hints.get(field.name, Any), _member(path, field.name))
        elif _is_required(field):
            missing = _member(path, field.name)
            raise CallError("invalid_input", f"`{missing}` is missing", {"field": missing})
    try:
        return hint(**arguments)
    except (TypeError, ValueError) as cause:  # raised by __post_init__
        raise CallError("invalid_input", f"{_shown(path)} does not fit {hint.__name__}: {cause}") from cause


def _convert_union(value: object, members: Sequence[object], path: str) -> object:
    # A member that matches the value unchanged is preferred: 3 is an int in `float | int`.
    for member in members:
        if isinstance(member, type) and type(value) is member and member not in (dict, list):
            return value
    problems: list[CallError] = []
    for member in members:
        try:
            return convert(value, member, path)
        except CallError as problem:
            problems.append(problem)
    # The most deeply nested error belongs to the member that the caller most likely meant.
    raise max(problems, key=lambda problem: len(str((problem.details or {}).get("field", ""))))


def _convert_generic(value: object, origin: type, arguments: Sequence[object], path: str) -> object:
    if issubclass(origin, Mapping):
        if not isinstance(value, dict):
            raise _mismatch(path, "an object", value)
        hint = arguments[1] if len(arguments) == 2 else Any
        return {key: convert(member, hint, _member(path, key)) for key, member in value.items()}
    if not issubclass(origin, Sequence):
        return value
    if not isinstance(value, list):
        raise _mismatch(path, "an array", value)
    if issubclass(origin, tuple) and not (len(arguments) == 2 and arguments[1] is Ellipsis):
        if len(value) != len(arguments):
            raise _mismatch(path, f"an array of {len(arguments)} items", value)
        pairs = zip(value, arguments, strict=True)
        return tuple(convert(item, hint, f"{path}[{at}]") for at, (item, hint) in enumerate(pairs))
    hint = arguments[0] if arguments else Any
    items = [convert(item, hint, f"{path}[{at}]") for at, item in enumerate(value)]
    return tuple(items) if issubclass(origin, tuple) else items


def _member(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def _shown(path: str) -> str:
    return f"`{path}`" if path else "the payload"


def _mismatch(path: str, wanted: str, value: object) -> CallError:
    kinds = {dict: "an object", list: "an array", str: "a string", bool: "a boolean", type(None): "null"}
    got = kinds.get(type(value)) or f"the number {str(value)[:32]}"
    return CallError("invalid_input", f"{_shown(path)} must be {wanted}, but is {got}", {"field": path})
