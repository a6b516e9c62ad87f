"""The calls behind ``worker.queue``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime, timezone
from enum import Enum
from typing import Any, Final, Literal

from .errors import CallError
from .helper_calls import request_of
from .queue_types import JobState
from .requests import CallRequest


class Unchanged(Enum):
    """In the place of a payload, where None is one."""

    UNCHANGED = "unchanged"


UNCHANGED: Final[Literal[Unchanged.UNCHANGED]] = Unchanged.UNCHANGED


def enqueue(**job: object) -> CallRequest:
    return {"function_id": "queue::enqueue", "payload": _job(job)}


def enqueue_many(jobs: Iterable[Mapping[str, Any]]) -> CallRequest:
    return request_of("queue::enqueue_many", jobs=[_job(job) for job in jobs])


def list_() -> CallRequest:
    return request_of("queue::list")


def stats(queue: str) -> CallRequest:
    return request_of("queue::stats", queue=queue)


def peek(queue: str, state: JobState, cursor: str | None, limit: int | None) -> CallRequest:
    return request_of("queue::peek", queue=queue, state=state, cursor=cursor, limit=limit)


def get_job(job_id: str) -> CallRequest:
    return request_of("queue::get_job", job_id=job_id)


def pause(queue: str) -> CallRequest:
    return request_of("queue::pause", queue=queue)


def resume(queue: str) -> CallRequest:
    return request_of("queue::resume", queue=queue)


def purge(queue: str) -> CallRequest:
    return request_of("queue::purge", queue=queue)


def cancel(job_id: str) -> CallRequest:
    return request_of("queue::cancel", job_id=job_id)


def redrive(queue: str, job_ids: Iterable[str] | None, payload: object) -> CallRequest:
    request = request_of("queue::redrive", queue=queue, job_ids=None if job_ids is None else _listed(job_ids))
    if payload is not UNCHANGED:
        request["payload"]["payload"] = payload
    return request


def discard(queue: str, job_ids: Iterable[str]) -> CallRequest:
    return request_of("queue::discard", queue=queue, job_ids=_listed(job_ids))


def publish(topic: str, data: object) -> CallRequest:
    request = request_of("svc::durable::publish", topic=topic)
    request["payload"]["data"] = data
    return request


def _job(job: Mapping[str, Any]) -> dict[str, Any]:
    """As the wire has it, without what is None; as data that is a value."""
    members = {name: value for name, value in job.items() if value is not None}
    run_at = members.get("run_at")
    if isinstance(run_at, datetime):
        members["run_at"] = _instant(run_at)
    return {**members, "data": job.get("data")}


def _instant(time: datetime) -> str:
    if time.tzinfo is None:
        raise CallError("invalid_input", "run_at has no time zone; take e.g. datetime.now(timezone.utc) + delay")
    # In UTC and with milliseconds, the one form that every engine reads.
    return time.astimezone(timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _listed(job_ids: Iterable[str]) -> list[str]:
    if isinstance(job_ids, str):
        raise CallError("invalid_input", "job_ids must be a list of ids, not one string")
    return list(job_ids)
