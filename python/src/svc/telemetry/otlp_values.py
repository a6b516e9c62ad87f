"""Converts values to attributes of OTLP/JSON, with size limits."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from typing import Any

from svc.errors import CallError, stack_of, text_of

# Limits of one entry, for programs that log very large values by mistake.
MAX_ATTRIBUTES = 128
_MAX_TEXT_CHARS = 16_384
_MAX_ENTRY_CHARS = 32_768
_MAX_LIST_ITEMS = 128
_MAX_DEPTH = 6
_INT64 = range(-(2**63), 2**63)
#: Maximum size of an integer that is written in digits, since conversion takes quadratic time.
_MAX_INTEGER_BITS = 4_096


def message_of(raised: BaseException) -> str:
    return raised.message if isinstance(raised, CallError) else text_of(raised)


class OtlpAttributes:
    """Attributes of one entry. Truncates long strings with an ellipsis and counts dropped attributes. Never raises."""

    def __init__(self) -> None:
        self.list: list[dict[str, Any]] = []
        self.dropped = 0
        self._left = _MAX_ENTRY_CHARS

    def set(self, key: str, value: object) -> None:
        if len(self.list) >= MAX_ATTRIBUTES or self._left < len(key):
            self.dropped += 1
            return
        self._left -= len(key)
        try:
            written = self._value(value, 0)
        except Exception:  # noqa: BLE001 - this runs the user's properties and __repr__
            written = {"stringValue": "[unreadable]"}
        self.list.append({"key": key, "value": written})

    def exception(self, raised: BaseException) -> None:
        """Sets the attributes that OpenTelemetry defines for exceptions."""
        self.set("exception.type", raised.code if isinstance(raised, CallError) else type(raised).__name__)
        self.set("exception.message", message_of(raised))
        self.set("exception.stacktrace", stack_of(raised))

    def text(self, text: str) -> str:
        limit = max(0, min(self._left, _MAX_TEXT_CHARS))
        shown = text if len(text) <= limit else f"{text[:limit]}…"
        self._left -= len(shown)
        return shown

    def _value(self, value: object, depth: int) -> dict[str, Any]:
        match value:
            case None:
                return {}
            case bool():
                return {"boolValue": value}
            case int():
                if value in _INT64:
                    return {"intValue": str(int(value))}
                return {"stringValue": self.text(str(value)) if value.bit_length() <= _MAX_INTEGER_BITS else "[int]"}
            case float():
                return {"doubleValue": value} if math.isfinite(value) else {"stringValue": str(value)}
            case str():
                return {"stringValue": self.text(value)}
            case BaseException():
                return self._entries({"type": type(value).__name__, "message": message_of(value)}, depth)
        if depth >= _MAX_DEPTH:
            return {"stringValue": "[too deep]"}
        if dataclasses.is_dataclass(value) and not isinstance(value, type):
            return self._entries({field.name: getattr(value, field.name) for field in dataclasses.fields(value)}, depth)
        if isinstance(value, Mapping):
            return self._entries(value, depth)
        if isinstance(value, (list, tuple, set, frozenset)):
            return self._items(value, depth)
        return {"stringValue": self.text(repr(value))}

    def _items(self, items: Any, depth: int) -> dict[str, Any]:
        values: list[dict[str, Any]] = []
        for item in items:
            if len(values) >= _MAX_LIST_ITEMS or self._left <= 0:
                break
            # Also limits nested lists without strings.
            self._left -= 2
            values.append(self._value(item, depth + 1))
        return {"arrayValue": {"values": values}}

    def _entries(self, entries: Mapping[Any, object], depth: int) -> dict[str, Any]:
        values: list[dict[str, Any]] = []
        for key, value in entries.items():
            if len(values) >= _MAX_LIST_ITEMS or self._left <= 0:
                break
            name = str(key)[:_MAX_TEXT_CHARS]
            self._left -= len(name) + 2
            values.append({"key": name, "value": self._value(value, depth + 1)})
        return {"kvlistValue": {"values": values}}
