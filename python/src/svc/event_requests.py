"""The calls behind ``worker.event``."""

from __future__ import annotations

from .helper_calls import request_of
from .requests import CallRequest


def publish(topic: str, data: object) -> CallRequest:
    # Put in by hand: null is a value.
    request = request_of("publish", topic=topic)
    request["payload"]["data"] = data
    return request


def emit(topic: str, data: object) -> CallRequest:
    request = request_of("event::emit", event=topic)
    request["payload"]["data"] = data
    return request


def list_() -> CallRequest:
    return request_of("event::list")
