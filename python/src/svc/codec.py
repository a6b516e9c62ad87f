"""Encodes and decodes frames. The only module that reads or writes JSON of the wire."""

from __future__ import annotations

import dataclasses
import enum
import json
import re
from collections.abc import Mapping
from typing import NoReturn

from .channel_refs import NamedByRef
from .errors import CallError
from .protocol import MAX_FRAME_BYTES, MAX_NAME_BYTES

_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", re.IGNORECASE)
_CONTROL = re.compile("[\u0000-\u001f\u007f-\u009f\u2028\u2029]")
_TAIL_OPENING = re.compile(r',"type":"(?:invokefunction|invocationresult)","invocation_id":"')
# The members after a payload are small except for the metadata. Only this much of the frame's end is searched.
_TAIL_CHARS = 256 * 1024
_TAIL_CANDIDATES = 16


class NotJson(Exception):
    """A string from the wire is not a JSON value that Python can read. The message says why."""


def encode_json(value: object, what: str, *, code: str = "serialization_error") -> str:
    """Encodes a value as JSON. ``what`` names it in the error, e.g. ``the payload``.

    Dataclasses, enums and pydantic models (``model_dump``) are encoded as their values, channel ends as their refs.

    Raises:
        CallError: ``code`` if the value is not JSON (NaN, cycles, sets, bytes, other objects).
    """
    try:
        return json.dumps(value, separators=(",", ":"), ensure_ascii=False, allow_nan=False, default=_plain)
    except RecursionError:
        raise CallError(code, f"{what} is nested too deeply to be written as JSON") from None
    except (TypeError, ValueError) as cause:
        raise CallError(code, f"{what} cannot be written as JSON: {cause}") from cause
    except Exception as cause:  # the user's model_dump or property failed
        message = f"{what} cannot be written as JSON: {type(cause).__name__}: {cause}"
        raise CallError(code, message) from cause


def _plain(value: object) -> object:
    if isinstance(value, NamedByRef):
        return value.ref
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    if isinstance(value, enum.Enum):
        return value.value
    dump = getattr(value, "model_dump", None)
    if callable(dump) and not isinstance(value, type):
        return dump(mode="json")
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"a value of type {type(value).__name__} has no JSON form; convert it to dict, list, str or number")


def encode_frame(members: Mapping[str, object], payload: tuple[str, str] | None = None) -> str:
    """Encodes a frame. ``payload``: name and JSON text of a member that is written last.

    Raises:
        CallError: ``payload_too_large`` above 16 MiB, ``serialization_error`` if a member is not JSON.
    """
    text = encode_json(members, f"the {members.get('type')} message")
    if payload is not None:
        name, value = payload
        text = f'{text[:-1]},"{name}":{value}}}'
    return _sendable(text)


def _sendable(text: str) -> str:
    # ASCII frames need no encoding to determine their size.
    if text.isascii() and len(text) <= MAX_FRAME_BYTES:
        return text
    try:
        size = len(text) if text.isascii() else len(text.encode("utf-8"))
    except UnicodeEncodeError:
        text = with_escaped_surrogates(text)
        size = len(text.encode("utf-8"))
    if size > MAX_FRAME_BYTES:
        raise CallError(
            "payload_too_large",
            f"the frame would have {size} bytes, the limit is {MAX_FRAME_BYTES}; send less, or a reference to it",
            {"bytes": size, "limit_bytes": MAX_FRAME_BYTES},
        )
    return text


def with_escaped_surrogates(text: str) -> str:
    """Escapes lone surrogates, which have no UTF-8. JSON permits them escaped, as JavaScript writes them."""
    return "".join(f"\\u{ord(char):04x}" if "\ud800" <= char <= "\udfff" else char for char in text)


def decode_json(text: str) -> object:
    """Decodes one JSON value. Raises NotJson for every error."""
    try:
        return json.loads(text, parse_constant=_refuse_constant)
    except RecursionError:
        raise NotJson("it is nested too deeply") from None
    except ValueError as cause:  # JSONDecodeError, and numbers with more digits than Python reads
        raise NotJson(str(cause)) from None


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def envelope_behind_payload(text: str) -> dict[str, object] | None:
    """Returns the members after the payload of a frame whose payload is not JSON, or None.

    The engine may forward payloads without parsing them. It then writes its own members after them, starting with
    ``type`` and ``invocation_id``. The result must be valid JSON up to the end of the frame. Lookalikes within metadata
    end earlier; lookalikes within the payload are overridden by the members after it.
    """
    tail = text[-_TAIL_CHARS:]
    openings = [match.start() for match in _TAIL_OPENING.finditer(tail)]
    for start in reversed(openings[-_TAIL_CANDIDATES:]):
        try:
            envelope = decode_json("{" + tail[start + 1 :])
        except NotJson:
            continue
        if isinstance(envelope, dict):
            return envelope
    return None


def is_uuid(value: object) -> bool:
    return isinstance(value, str) and _UUID.fullmatch(value) is not None


def name_problem(name: object, what: str) -> str | None:
    """Returns why a name is invalid, or None if it is a valid id."""
    if not isinstance(name, str):
        return f"{what} must be a string, not {type(name).__name__}"
    if name.strip() == "":
        return f"{what} is empty; give it 1 to {MAX_NAME_BYTES} bytes"
    if len(name.encode("utf-8", "surrogatepass")) > MAX_NAME_BYTES:
        return f"{what} is longer than {MAX_NAME_BYTES} bytes"
    if _CONTROL.search(name) is not None:
        return f"{what} contains a control character"
    return None


def checked_name(name: object, what: str) -> str:
    """Returns the name. Raises CallError ``invalid_name`` if it is invalid."""
    problem = name_problem(name, what)
    if problem is not None:
        raise CallError("invalid_name", problem)
    assert isinstance(name, str)
    return name
