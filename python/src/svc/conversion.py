"""Converts JSON values to the types of hints, and finds what does not match them."""

from __future__ import annotations

import dataclasses
import enum
import types
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from itertools import islice
from typing import Annotated, Any, Literal, NamedTuple, TypeVar, Union, get_args, get_origin, get_type_hints

from .errors import CallError
from .schema import is_class, is_required, is_typed_dict

Place = tuple["str | int", ...]
Converted = TypeVar("Converted")

#: Maximum issues of one value.
MAX_ISSUES = 100
#: Maximum length of a key of a value in the place of an issue. A caller chooses it, and each issue repeats it.
_MAX_KEY = 64


class Issue(NamedTuple):
    """What is wrong at one place of a value, e.g. ``must be an integer, but is a string``."""

    place: Place
    problem: str

    def __str__(self) -> str:
        return f"{shown(self.place)} {self.problem}"


class Mismatch(CallError):
    """A value that does not match its hint: ``invalid_input``, with every issue. ``details.field`` names the first."""

    def __init__(self, issues: Sequence[Issue]) -> None:
        self.issues = tuple(issues[:MAX_ISSUES])
        first = self.issues[0].place
        super().__init__("invalid_input", "; ".join(map(str, self.issues)), {"field": _joined(first)})

    def __reduce__(self) -> tuple[type[Mismatch], tuple[tuple[Issue, ...]]]:
        return Mismatch, (self.issues,)


class UnreadText(str):
    """Text of a request that cannot be read as the number or boolean that a hint wants. Messages show it."""


def wants_conversion(hint: object) -> bool:
    """Returns True for dataclasses and pydantic models. Other hints leave the JSON value unchanged."""
    if not is_class(hint):
        return any(wants_conversion(member) for member in get_args(hint)) and get_origin(hint) is not Literal
    return dataclasses.is_dataclass(hint) or callable(getattr(hint, "model_validate", None))


def convert(value: object, hint: object, place: Place = ()) -> object:
    """Converts a JSON value to an instance of the hint. Drops members that are unknown to a dataclass.

    Raises:
        Mismatch: the value does not match.
    """
    if is_class(hint):
        return _convert_class(value, hint, place)
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return convert(value, arguments[0], place)
    if origin is Union or origin is types.UnionType:
        return _convert_union(value, arguments, place)
    if origin is Literal:
        if any(value == literal and type(value) is type(literal) for literal in arguments):
            return value
        raise _mismatch(place, f"one of {', '.join(map(repr, arguments))}", value)
    if hint is None:
        return _convert_class(value, type(None), place)
    if isinstance(origin, type):
        return _convert_generic(value, origin, arguments, place)
    return value


def all_of(conversions: Iterable[Callable[[], Converted]]) -> list[Converted]:
    """Runs the conversions. Raises Mismatch with the issues of all that fail, up to the maximum."""
    converted: list[Converted] = []
    issues: list[Issue] = []
    for conversion in conversions:
        try:
            converted.append(conversion())
        except Mismatch as mismatch:
            issues += mismatch.issues
            if len(issues) >= MAX_ISSUES:
                break
    if issues:
        raise Mismatch(issues)
    return converted


def _convert_class(value: object, hint: type, place: Place) -> object:
    if hint is bool or hint is str or hint is type(None):
        if isinstance(value, hint):
            return value
        raise _mismatch(place, {bool: "a boolean", str: "a string"}.get(hint, "null"), value)
    if hint is int or hint is float:
        return _convert_number(value, hint, place)
    if issubclass(hint, enum.Enum):
        try:
            return hint(value)
        except ValueError:
            raise _mismatch(place, f"one of {', '.join(repr(member.value) for member in hint)}", value) from None
    validate = getattr(hint, "model_validate", None)
    if callable(validate):
        try:
            return validate(value)
        except Exception as cause:
            raise Mismatch(_issues_of_model(cause, hint, place)) from cause
    if dataclasses.is_dataclass(hint):
        return _convert_dataclass(value, hint, place)
    if hint is dict or is_typed_dict(hint):
        if isinstance(value, dict):
            return value
        raise _mismatch(place, "an object", value)
    if hint is list or hint is tuple:
        if isinstance(value, list):
            return hint(value)
        raise _mismatch(place, "an array", value)
    return value


def _convert_number(value: object, hint: type, place: Place) -> object:
    if not isinstance(value, bool):
        if hint is float and isinstance(value, (int, float)):
            try:
                return float(value)
            except OverflowError:
                raise _mismatch(place, "a number that a float can hold", value) from None
        if isinstance(value, int):
            return value
        if isinstance(value, float) and value.is_integer():  # JSON has one kind of number: 3.0 is an integer
            return int(value)
    raise _mismatch(place, "a number" if hint is float else "an integer", value)


def _convert_dataclass(value: object, hint: type, place: Place) -> object:
    if not isinstance(value, dict):
        raise _mismatch(place, "an object", value)
    hints = get_type_hints(hint, include_extras=True)

    def member(field: dataclasses.Field[Any]) -> tuple[str, object]:
        if field.name not in value:
            raise Mismatch([Issue((*place, field.name), "is missing")])
        return field.name, convert(value[field.name], hints.get(field.name, Any), (*place, field.name))

    fields = [field for field in dataclasses.fields(hint) if field.init and (field.name in value or is_required(field))]
    arguments = dict(all_of(partial(member, field) for field in fields))
    try:
        return hint(**arguments)
    except (TypeError, ValueError) as cause:  # raised by __post_init__
        raise Mismatch([Issue(place, f"does not fit {hint.__name__}: {cause}")]) from cause


def _convert_union(value: object, members: Sequence[object], place: Place) -> object:
    # A member that matches the value unchanged is preferred: 3 is an int in `float | int`.
    for member in members:
        if isinstance(member, type) and type(value) is member and member not in (dict, list):
            return value
    problems: list[Mismatch] = []
    for member in members:
        try:
            return convert(value, member, place)
        except Mismatch as problem:
            problems.append(problem)
    # The most deeply nested issue belongs to the member that the caller most likely meant.
    raise max(problems, key=lambda problem: max(len(issue.place) for issue in problem.issues))


def _convert_generic(value: object, origin: type, arguments: Sequence[object], place: Place) -> object:
    if issubclass(origin, Mapping):
        if not isinstance(value, dict):
            raise _mismatch(place, "an object", value)
        hint = arguments[1] if len(arguments) == 2 else Any
        members = [(key, member, hint) for key, member in value.items()]
        return dict(zip(value, _convert_each(members, place), strict=True))
    if not issubclass(origin, Sequence):
        return value
    if not isinstance(value, list):
        raise _mismatch(place, "an array", value)
    if issubclass(origin, tuple) and not (len(arguments) == 2 and arguments[1] is Ellipsis):
        if len(value) != len(arguments):
            raise _mismatch(place, f"an array of {len(arguments)} items", value)
        pairs = zip(value, arguments, strict=True)
        return tuple(_convert_each([(at, item, hint) for at, (item, hint) in enumerate(pairs)], place))
    hint = arguments[0] if arguments else Any
    items = _convert_each([(at, item, hint) for at, item in enumerate(value)], place)
    return tuple(items) if issubclass(origin, tuple) else items


def _convert_each(members: Iterable[tuple[str | int, object, object]], place: Place) -> list[object]:
    return all_of(partial(convert, item, hint, (*place, _short(key))) for key, item, hint in members)


def _issues_of_model(cause: Exception, hint: type, place: Place) -> list[Issue]:
    """Returns pydantic's issues one by one; one issue for errors of other models."""
    errors = getattr(cause, "errors", None)
    listed = errors() if callable(errors) else ()
    issues = [
        Issue((*place, *map(_short, error.get("loc", ()))), f"is invalid: {error.get('msg', cause)}")
        for error in islice(listed, MAX_ISSUES)
        if isinstance(error, dict)
    ]
    return issues or [Issue(place, f"does not fit {hint.__name__}: {cause}")]


def _short(key: str | int) -> str | int:
    return f"{key[:_MAX_KEY]}…" if isinstance(key, str) and len(key) > _MAX_KEY else key


def shown(place: Place) -> str:
    return f"`{_joined(place)}`" if place else "the payload"


def _joined(place: Place) -> str:
    text = ""
    for key in place:
        text += f"[{key}]" if isinstance(key, int) else f".{key}" if text else key
    return text


def _mismatch(place: Place, wanted: str, value: object) -> Mismatch:
    kinds = {dict: "an object", list: "an array", str: "a string", bool: "a boolean", type(None): "null"}
    got = kinds.get(type(value)) or (
        repr(str(value)[:64]) if isinstance(value, str) else f"the number {str(value)[:32]}"
    )
    return Mismatch([Issue(place, f"must be {wanted}, but is {got}")])
