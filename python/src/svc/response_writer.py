"""The writing end of an HTTP response, as handlers without ``svc.http`` get it."""

from __future__ import annotations

import json

from .channel_writer import ChannelWriter

_CONTROLS = ("set_status", "set_headers")


class ResponseWriter(ChannelWriter):
    """As ``ChannelWriter``. The bytes that it writes are the body.

    Strings are control messages, sent before the first write: ``{"type": "set_status", "status_code"}`` and
    ``{"type": "set_headers", "headers"}`` as JSON. The engine would ignore any other one, and the body would be empty,
    so ``send`` raises TypeError.
    """

    __slots__ = ()

    def _check_text(self, text: str) -> None:
        if not _is_control(text):
            raise TypeError(
                "the body of an HTTP response is bytes: use write(text.encode()) in place of send(text); "
                f"send takes the messages {' and '.join(_CONTROLS)}"
            )


def is_http_request(payload: dict[str, object]) -> bool:
    """Returns whether the payload is the request of an ``http`` trigger."""
    trigger = payload.get("trigger")
    return isinstance(trigger, dict) and trigger.get("type") == "http"


def _is_control(text: object) -> bool:
    try:
        message = json.loads(text) if isinstance(text, str) else None
    except ValueError:
        return False
    return isinstance(message, dict) and message.get("type") in _CONTROLS
