"""Collects the definitions of the models within a type hint, so that all references start at the root of its schema."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any

_PREFIX = "#/$defs/"


class Definitions:
    """The `$defs` of a schema, which consists of the schemas of several models."""

    def __init__(self) -> None:
        self.schemas: dict[str, object] = {}

    def move(self, schema: Mapping[str, Any]) -> dict[str, object]:
        """Returns a model's schema without its `$defs`, which are added to these.

        Models may use the same name for different definitions. The later ones get a number.
        """
        own = schema.get("$defs")
        rest = {keyword: value for keyword, value in schema.items() if keyword != "$defs"}
        if not isinstance(own, Mapping):
            return rest
        for number in itertools.count(1):
            names = {str(name): f"{name}{number}" if number > 1 else str(name) for name in own}
            moved = {names[str(name)]: _with_names(value, names) for name, value in own.items()}
            if all(self.schemas.get(name, value) == value for name, value in moved.items()):
                break
        self.schemas |= moved
        renamed: dict[str, object] = _with_names(rest, names)
        return renamed


def _with_names(value: Any, names: Mapping[str, str]) -> Any:
    if isinstance(value, list):
        return [_with_names(item, names) for item in value]
    if not isinstance(value, dict):
        return value
    return {
        keyword: _ref(inner, names) if keyword == "$ref" and isinstance(inner, str) else _with_names(inner, names)
        for keyword, inner in value.items()
    }


def _ref(ref: str, names: Mapping[str, str]) -> str:
    if not ref.startswith(_PREFIX):
        return ref
    name = ref[len(_PREFIX) :]
    return f"{_PREFIX}{names.get(name, name)}"
