"""The calls behind ``worker.cron``."""

from __future__ import annotations

from .helper_calls import request_of
from .requests import CallRequest


def list_(cursor: str | None, limit: int | None) -> CallRequest:
    return request_of("cron::list", cursor=cursor, limit=limit)


def history(trigger_id: str, limit: int | None) -> CallRequest:
    return request_of("cron::history", trigger_id=trigger_id, limit=limit)


def trigger_now(trigger_id: str, timeout_ms: int | None) -> CallRequest:
    request = request_of("cron::trigger_now", trigger_id=trigger_id)
    if timeout_ms is not None:
        request["timeout_ms"] = timeout_ms
    return request


def pause(trigger_id: str) -> CallRequest:
    return request_of("cron::pause", trigger_id=trigger_id)


def resume(trigger_id: str) -> CallRequest:
    return request_of("cron::resume", trigger_id=trigger_id)
