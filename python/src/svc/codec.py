"""JSON text of frames and back. The only place where this SDK reads or writes JSON of the wire."""

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
# The envelope behind a payload is small except for its metadata; what lies further from the end is not looked at.
_TAIL_CHARS = 256 * 1024
_TAIL_CANDIDATES = 16


class NotJson(Exception):
    """A text from the wire is not one JSON value that can be read here; the message says why."""


def encode_json(value: object, what: str, *, code: str = "serialization_error") -> str:
    """JSON text of a value. ``what`` names it in the error, e.g. ``the payload``.

    Dataclasses, enums and pydantic models (``model_dump``) are written as their values, ends of channels as their refs.

    Raises:
        CallError: ``code`` for what JSON cannot hold (NaN, cycles, sets, bytes, other objects).
    """
    try:
        return json.dumps(value, separators=(",", ":"), ensure_ascii=False, allow_nan=False, default=_plain)
    except RecursionError:
        raise CallError(code, f"{what} is nested too deeply to be written as JSON") from None
    except (TypeError, ValueError) as cause:
        raise CallError(code, f"{what} cannot be written as JSON: {cause}") from cause
    except Exception as cause:  # a model_dump or property of the user's own failed
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
    raise TypeError(f"a value of type {type(value).__name__} has no JSON form; turn it into dict, list, str or number")


def encode_frame(members: Mapping[str, object], payload: tuple[str, str] | None = None) -> str:
    """Text of a frame. ``payload`` is a member that is JSON text already; it is written last.

    Raises:
        CallError: ``payload_too_large`` above 16 MiB, ``serialization_error`` for what JSON cannot hold.
    """
    text = encode_json(members, f"the {members.get('type')} message")
    if payload is not None:
        name, value = payload
        text = f'{text[:-1]},"{name}":{value}}}'
    return _sendable(text)


def _sendable(text: str) -> str:
    # A character has at most 3 bytes per UTF-16 unit and 4 in all, so most frames need no encoding to be judged.
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
    """Half of a surrogate pair has no UTF-8. JSON can still carry it, escaped, as JavaScript writes it."""
    return "".join(f"\\u{ord(char):04x}" if "\ud800" <= char <= "\udfff" else char for char in text)


def decode_json(text: str) -> object:
    """Reads one JSON value; raises NotJson, whatever is wrong with it."""
    try:
        return json.loads(text, parse_constant=_refuse_constant)
    except RecursionError:
        raise NotJson("it is nested too deeply") from None
    except ValueError as cause:  # JSONDecodeError, and numbers with more digits than Python reads
        raise NotJson(str(cause)) from None


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def envelope_behind_payload(text: str) -> dict[str, object] | None:
    """Members that stand behind the payload of a frame that is not JSON as a whole.

    The engine may pass on payloads unread; it then writes everything it vouches for behind them, starting with ``type``
    and ``invocation_id``. Whatever is found must read as JSON up to the very end of the frame: text that merely looks
    like an envelope inside metadata ends earlier, and one inside the payload is overridden by the members behind it.
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
    """Says what is wrong with a name, or None when it may be used as an id."""
    if not isinstance(name, str):
        return f"{what} must be a string, not {type(name).__name__}"
    if name.strip() == "":
        return f"{what} is empty; give it 1 to {MAX_NAME_BYTES} bytes"
    if len(name.encode("utf-8", "surrogatepass")) > MAX_NAME_BYTES:
        return f"{what} is longer than {MAX_NAME_BYTES} bytes"
    if _CONTROL.search(name) is not None:
        return f"{what} holds a control character"
    return None


def checked_name(name: object, what: str) -> str:
    """The name, or CallError ``invalid_name``."""
    problem = name_problem(name, what)
    if problem is not None:
        raise CallError("invalid_name", problem)
    assert isinstance(name, str)
    return name
