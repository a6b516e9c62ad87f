"""Reads path parameters, queries, headers and form fields, which are strings, as the types of hints."""

from __future__ import annotations

import dataclasses
import enum
import math
import re
import types
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

from .conversion import UnreadText
from .schema import is_class

_INTEGER = re.compile(r"[+-]?[0-9]{1,4000}")
# A digit fits one place only, so that a long text takes linear time.
_NUMBER = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?")
_BOOLEANS = {"true": True, "1": True, "yes": True, "on": True, "false": False, "0": False, "no": False, "off": False}


def read_text(value: object, hint: object) -> object:
    """Returns the value with each string read as its hint says: a number, a boolean, the value of an enum or literal.

    Strings that cannot be read stay, for ``convert`` to reject. Pydantic models read strings themselves.
    """
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return read_text(value, arguments[0])
    if origin is Union or origin is types.UnionType:
        return _read_union(value, arguments)
    if isinstance(value, dict):
        return _read_members(value, hint)
    if isinstance(value, list):
        item = arguments[0] if isinstance(origin, type) and issubclass(origin, Sequence) and arguments else Any
        return [read_text(one, item) for one in value]
    return _read(value, hint) if isinstance(value, str) else value


def _read_members(value: dict[str, object], hint: object) -> object:
    if is_class(hint) and dataclasses.is_dataclass(hint):
        hints = get_type_hints(hint, include_extras=True)
        return {name: read_text(member, hints.get(name, Any)) for name, member in value.items()}
    origin, arguments = get_origin(hint), get_args(hint)
    if isinstance(origin, type) and issubclass(origin, Mapping) and len(arguments) == 2:
        return {name: read_text(member, arguments[1]) for name, member in value.items()}
    return value


def _read_union(value: object, members: Sequence[object]) -> object:
    unread: object = value
    for member in members:
        found = read_text(value, member)
        if isinstance(found, UnreadText):
            unread = found
        elif found is not value or _has_choices(member):
            return found
    return value if str in members else unread


def _read(text: str, hint: object) -> object:
    if hint is bool:
        return _BOOLEANS.get(text.lower(), UnreadText(text))
    if hint is int:
        return int(text) if _INTEGER.fullmatch(text) else UnreadText(text)
    if hint is float:
        return _read_float(text)
    if is_class(hint) and issubclass(hint, enum.Enum):
        return _read_choice(text, [member.value for member in hint])
    if get_origin(hint) is Literal:
        return _read_choice(text, get_args(hint))
    return text


def _read_float(text: str) -> object:
    number = float(text) if _NUMBER.fullmatch(text) else math.inf
    return number if math.isfinite(number) else UnreadText(text)


def _has_choices(hint: object) -> bool:
    while get_origin(hint) is Annotated:
        hint = get_args(hint)[0]
    return get_origin(hint) is Literal or (is_class(hint) and issubclass(hint, enum.Enum))


def _read_choice(text: str, choices: Sequence[object]) -> object:
    if text in choices:
        return text
    read = (choice for choice in choices if not isinstance(choice, str) and _read(text, type(choice)) == choice)
    return next(read, UnreadText(text))
