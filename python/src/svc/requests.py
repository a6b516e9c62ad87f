"""Requests of users, validated before anything is sent."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, TypedDict

from .codec import checked_name, encode_json
from .context import HandlerContext
from .errors import CallError
from .options import unknown_names
from .outgoing import Mode, Outgoing, checked_timeout_ms
from .telemetry.spans import headers_within


class _CallRequest(TypedDict):
    function_id: str


class CallRequest(_CallRequest, total=False):
    """``payload``: any JSON value, default null. ``timeout_ms``: 1 to 86,400,000, default 30,000.
    ``metadata``: the handler's ``context.metadata``."""

    payload: Any
    timeout_ms: int
    metadata: Any


class _EnqueueRequest(CallRequest):
    queue: str


class EnqueueRequest(_EnqueueRequest):
    """A call that the engine puts on ``queue``."""


class _TriggerInput(TypedDict):
    type: str
    function_id: str


class TriggerInput(_TriggerInput, total=False):
    """``config``: as the trigger type requires, e.g. ``{"api_path": "/add", "http_method": "POST"}`` for ``http``.
    ``metadata``: the handler's ``context.metadata``."""

    config: Any
    metadata: Any


class _TriggerTypeInput(TypedDict):
    id: str
    description: str


class TriggerTypeInput(_TriggerTypeInput, total=False):
    """``trigger_request_format``: JSON Schema of ``config``; ``validate``: the engine rejects other configs.
    ``call_request_format``: JSON Schema of the calls' payload.
    """

    trigger_request_format: Any
    call_request_format: Any
    validate: bool


_CALL_MEMBERS = ("function_id", "payload", "timeout_ms", "metadata")
_ENQUEUE_MEMBERS = (*_CALL_MEMBERS, "queue")


def outgoing_of(
    request: Mapping[str, Any],
    mode: Mode,
    context: HandlerContext | None,
    default_timeout_ms: int | None,
) -> Outgoing:
    """Validates a request and encodes its payload, on the caller's thread.

    Raises:
        CallError: ``invalid_input`` or ``invalid_name``, naming the member and what is expected.
    """
    known = _ENQUEUE_MEMBERS if mode == "enqueue" else _CALL_MEMBERS
    if not isinstance(request, Mapping):
        raise CallError("invalid_input", f"a call takes a dict such as {{'function_id': ...}}, not {request!r:.100}")
    unknown = unknown_names(request, known)
    if unknown is not None:
        raise CallError("invalid_input", f"a call has {unknown}")
    function_id = checked_name(request.get("function_id"), "function_id")
    headers = headers_within(context)
    timeout_ms = request.get("timeout_ms")
    timeout_ms = default_timeout_ms if timeout_ms is None else checked_timeout_ms(timeout_ms)
    return Outgoing(
        function_id=function_id,
        mode=mode,
        payload=encode_json(request.get("payload"), f"the payload for {function_id}", code="invalid_input"),
        queue=checked_name(request.get("queue"), "queue") if mode == "enqueue" else None,
        timeout_ms=timeout_ms,
        metadata=_json_checked(request.get("metadata"), function_id),
        traceparent=None if headers is None else headers.traceparent,
        baggage=None if headers is None else headers.baggage,
        within_handler=context is not None,
    )


def _json_checked(metadata: object, function_id: str) -> object:
    if metadata is not None:
        encode_json(metadata, f"the metadata for {function_id}", code="invalid_input")
    return metadata


def checked_members(
    request: Mapping[str, Any], what: str, required: tuple[str, ...], optional: tuple[str, ...]
) -> None:
    """Raises TypeError if a registration is not a dict, lacks a member or has an unknown one."""
    if not isinstance(request, Mapping):
        raise TypeError(f"{what} takes a dict with {', '.join(required)}, not {type(request).__name__}")
    known = (*required, *optional)
    unknown = unknown_names(request, known)
    if unknown is not None:
        raise TypeError(f"{what} has {unknown}")
    missing = [name for name in required if name not in request]
    if missing:
        raise TypeError(f"{what} lacks {', '.join(missing)}; it takes {', '.join(known)}")


def checked_item(item: Mapping[str, Any], what: str, known: Collection[str]) -> Mapping[str, Any]:
    """Returns an item of a list of dicts. Raises CallError ``invalid_input`` if it has an unknown member."""
    if not isinstance(item, Mapping):
        raise CallError("invalid_input", f"{what} must be a dict with {', '.join(known)}, not {item!r:.100}")
    unknown = unknown_names(item, known)
    if unknown is not None:
        raise CallError("invalid_input", f"{what} has {unknown}")
    return item
