"""Options of registrations and of ``connect``, checked."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from .errors import CallError
from .outgoing import checked_timeout_ms
from .schema import schema_of


def timeout_option(timeout_ms: object, what: str) -> int:
    try:
        return checked_timeout_ms(timeout_ms)
    except CallError as cause:
        raise ValueError(cause.message.replace("timeout_ms", what, 1)) from None


def format_of(given: object, id: str) -> object:
    """JSON Schema is taken as it is, a type is turned into one."""
    if isinstance(given, (Mapping, bool)):
        return given
    schema = schema_of(given)
    if schema is None:
        raise TypeError(
            f"a format of {id} is neither JSON Schema (a dict) nor a type that can be described: {given!r:.100}"
        )
    return schema


def first_line(handler: Callable[..., Any]) -> str | None:
    lines = (getattr(handler, "__doc__", None) or "").strip().splitlines()
    return lines[0].strip() if lines else None
