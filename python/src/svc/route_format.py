"""Describes the requests of a route by JSON Schema."""

from __future__ import annotations

import types
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, Union, get_args, get_origin

from .schema import Schema, schema_of

Part = Literal["params", "query", "headers", "body"]

#: The parts of a request, with their members in the payload of the function.
PARTS: Mapping[Part, str] = {
    "params": "path_params",
    "query": "query_params",
    "headers": "headers",
    "body": "body",
}


@dataclass(frozen=True, slots=True)
class PartFormat:
    """How a handler wants one part of a request.

    Attributes:
        hint: Type hint of the handler's parameter.
        schema: JSON Schema of the hint; None if it has none.
        lists: Members that are lists: all values of a query parameter, a header or a field of a form.
        others_are_lists: Whether members without a name in the hint are lists, as in ``dict[str, list[str]]``.
        headers: By name of the member, the name of its header.
    """

    hint: object
    schema: Schema | None
    lists: frozenset[str]
    others_are_lists: bool
    headers: Mapping[str, str]


def part_format(part: Part, hint: object) -> PartFormat:
    members = _without_none(hint)
    if part != "body":
        hint = members  # such a part is never absent
    schema = schema_of(hint)
    described = schema_of(members)
    properties = _properties(described)
    headers = {name: name.lower().replace("_", "-") for name in properties} if part == "headers" else {}
    lists = frozenset(name for name, member in properties.items() if _is_list(member))
    if schema is not None and headers:
        renamed = {headers[name]: member for name, member in properties.items()}
        required = schema.get("required", [])
        schema = {**schema, "properties": renamed}
        if isinstance(required, list) and required:
            schema["required"] = [headers.get(name, name) for name in required]
    return PartFormat(hint, schema, lists, _is_list((described or {}).get("additionalProperties")), headers)


def _without_none(hint: object) -> object:
    """Returns ``Search`` for ``Search | None``."""
    if get_origin(hint) not in (Union, types.UnionType):
        return hint
    members = [member for member in get_args(hint) if member is not type(None)]
    return members[0] if len(members) == 1 else hint


def request_format(formats: Iterable[tuple[Part, PartFormat]]) -> Schema | None:
    """Returns the JSON Schema of the function's payload, or None if no part has one."""
    properties: dict[str, Schema] = {}
    definitions: dict[str, Any] = {}
    for part, format in formats:
        if format.schema is None:
            continue
        schema = dict(format.schema)
        inner = schema.pop("$defs", {})
        properties[PARTS[part]] = _with_moved_refs(schema, part)
        if isinstance(inner, dict):
            definitions |= {f"{part}.{name}": _with_moved_refs(value, part) for name, value in inner.items()}
    if not properties:
        return None
    whole: Schema = {"type": "object", "properties": properties, "required": list(properties)}
    return {**whole, "$defs": definitions} if definitions else whole


def _properties(schema: Schema | None) -> dict[str, object]:
    properties = (schema or {}).get("properties")
    return properties if isinstance(properties, dict) else {}


def _is_list(schema: object) -> bool:
    if not isinstance(schema, dict):
        return False
    return schema.get("type") == "array" or any(_is_list(one) for one in schema.get("anyOf", ()))


def _with_moved_refs(value: Any, part: Part) -> Any:
    """Moves references of a part's schema, which starts at its root, to its place in the payload's schema."""
    if isinstance(value, list):
        return [_with_moved_refs(item, part) for item in value]
    if not isinstance(value, dict):
        return value
    return {
        keyword: _moved_ref(inner, part)
        if keyword == "$ref" and isinstance(inner, str)
        else _with_moved_refs(inner, part)
        for keyword, inner in value.items()
    }


def _moved_ref(ref: str, part: Part) -> str:
    definitions = "#/$defs/"
    if ref.startswith(definitions):
        return f"{definitions}{part}.{ref[len(definitions) :]}"
    return f"#/properties/{PARTS[part]}{ref[1:]}" if ref.startswith("#") else ref
