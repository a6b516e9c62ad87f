"""``worker.queue``: durable jobs and messages, stored by the engine's module ``svc-queue``."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Mapping
from datetime import datetime, timezone
from enum import Enum
from typing import Any, Final, Literal, cast

from .blocking import blocking, blocking_iterator
from .call_client import ModuleClient, all_pages
from .errors import CallError
from .queue_types import (
    DoneJob,
    DoneJobPage,
    EndedJob,
    EnqueuedJob,
    JobPage,
    JobState,
    JobToEnqueue,
    QueueJob,
    QueueStats,
)
from .requests import checked_item

# Within the class `list` is a method.
_Enqueued = list[EnqueuedJob]
_Stats = list[QueueStats]


class Unchanged(Enum):
    """Default of a payload for which None is a value."""

    UNCHANGED = "unchanged"


UNCHANGED: Final[Literal[Unchanged.UNCHANGED]] = Unchanged.UNCHANGED


class Queues(ModuleClient):
    """Every method has an ``_async`` form, for async handlers and other event loops.

    A job runs at least once: it is retried if its handler fails, and ends as done or in the dead-letter queue. It waits
    while no worker provides its function. ``context.job`` tells the handler which job and which attempt it is.

    All raise CallError as ``worker.call`` does: ``function_not_found`` if the engine does not run ``svc-queue``,
    ``queue_not_found``, ``job_not_found``, ``queue_full``, ``payload_too_large``, ``storage_failed``.
    """

    _name = "worker.queue"

    # ---- enqueue and publish

    async def enqueue_async(
        self,
        queue: str,
        function_id: str | None,
        data: Any = None,
        *,
        delay_ms: int | None = None,
        run_at: datetime | str | None = None,
        priority: int | None = None,
        dedupe_key: str | None = None,
        expires_in_ms: int | None = None,
        group: str | None = None,
        max_attempts: int | None = None,
    ) -> EnqueuedJob:
        """Puts a call of the function on a queue. Returns when the job is on disk.

        Args:
            function_id: None: for the queue's triggers.
            data: Payload of the call.
            delay_ms: Earliest start, in milliseconds from now. Not together with ``run_at``.
            run_at: Earliest start: a datetime with a time zone, or RFC 3339.
            priority: Higher priorities run first; 0 to 255, default 0.
            dedupe_key: While a job with the same key is remembered (10 minutes by default), nothing is stored and
                that job is returned.
            expires_in_ms: A job that has not started by then is dropped.
            group: Jobs of one group run one after another, in order; different groups run concurrently.
            max_attempts: Attempts before the job moves to the dead-letter queue. Default: the queue's config, else 3.
        """
        job = {
            "queue": queue,
            "function_id": function_id,
            "data": data,
            "delay_ms": delay_ms,
            "run_at": run_at,
            "priority": priority,
            "dedupe_key": dedupe_key,
            "expires_in_ms": expires_in_ms,
            "group": group,
            "max_attempts": max_attempts,
        }
        return cast(EnqueuedJob, await self._call("queue::enqueue", _job(job)))

    enqueue = blocking(enqueue_async)

    async def enqueue_many_async(self, jobs: Iterable[JobToEnqueue | Mapping[str, Any]]) -> _Enqueued:
        """Stores 1 to 1,000 jobs, all or none. The results are in the order of the jobs."""
        return cast(_Enqueued, (await self._call("queue::enqueue_many", jobs=[_job(job) for job in jobs]))["jobs"])

    enqueue_many = blocking(enqueue_many_async)

    async def publish_async(self, topic: str, data: Any = None) -> None:
        """Stores a message for each ``durable:subscriber`` trigger on the topic, even if its worker is disconnected.

        Returns when the messages are on disk. For events that need not be stored use ``worker.event``.
        """
        await self._call("svc::durable::publish", {"data": data}, topic=topic)

    publish = blocking(publish_async)

    # ---- inspect

    async def list_async(self) -> _Stats:
        """Returns all queues with their job counts."""
        return cast(_Stats, (await self._call("queue::list"))["queues"])

    list = blocking(list_async)

    async def stats_async(self, queue: str) -> QueueStats:
        """Returns the job counts of a queue."""
        return cast(QueueStats, await self._call("queue::stats", queue=queue))

    stats = blocking(stats_async)

    async def peek_async(
        self, queue: str, state: JobState = "waiting", *, cursor: str | None = None, limit: int | None = None
    ) -> JobPage:
        """Returns one page of the jobs in a state, without removing them. ``cursor``: from the previous page."""
        return cast(JobPage, await self._call("queue::peek", queue=queue, state=state, cursor=cursor, limit=limit))

    peek = blocking(peek_async)

    def jobs_async(
        self, queue: str, state: JobState = "waiting", *, page_size: int | None = None
    ) -> AsyncIterator[QueueJob]:
        """Yields all jobs in a state, fetched page by page. Dead-letter entries: the latest first."""
        return all_pages(lambda cursor: self.peek_async(queue, state, cursor=cursor, limit=page_size), "jobs")

    jobs = blocking_iterator(jobs_async)

    def done_jobs_async(self, queue: str, *, page_size: int | None = None) -> AsyncIterator[DoneJob]:
        """Yields the jobs that succeeded and are kept, the latest first."""

        async def page(cursor: str | None) -> DoneJobPage:
            return cast(
                DoneJobPage,
                await self._call("queue::peek", queue=queue, state="done", cursor=cursor, limit=page_size),
            )

        return all_pages(page, "jobs")

    done_jobs = blocking_iterator(done_jobs_async)

    async def get_job_async(self, job_id: str) -> QueueJob | DoneJob | EndedJob:
        """Returns a job by its id: a running one with its progress, one that succeeded with its result.

        Raises ``job_not_found`` for a job that has ended and is no longer kept.
        """
        return cast("QueueJob | DoneJob | EndedJob", await self._call("queue::get_job", job_id=job_id))

    get_job = blocking(get_job_async)

    # ---- control

    async def pause_async(self, queue: str) -> None:
        """Stops starting jobs until ``resume``, across restarts. Jobs are still accepted."""
        await self._call("queue::pause", queue=queue)

    pause = blocking(pause_async)

    async def resume_async(self, queue: str) -> None:
        """Starts jobs again."""
        await self._call("queue::resume", queue=queue)

    resume = blocking(resume_async)

    async def purge_async(self, queue: str) -> int:
        """Deletes all waiting and delayed jobs. Returns their number."""
        return cast(int, (await self._call("queue::purge", queue=queue))["purged"])

    purge = blocking(purge_async)

    async def cancel_async(self, job_id: str) -> None:
        """Deletes a job. A running one is cancelled at its worker."""
        await self._call("queue::cancel", job_id=job_id)

    cancel = blocking(cancel_async)

    # ---- dead-letter queue

    async def redrive_async(self, queue: str, *, job_ids: Iterable[str] | None = None, payload: Any = UNCHANGED) -> int:
        """Moves dead-letter entries back to their queue, with all their attempts. Returns their number.

        Args:
            job_ids: Only these. If one of them is not in the dead-letter queue, none is moved (``job_not_found``).
                Default: all.
            payload: Data that replaces theirs.
        """
        replaced = None if payload is UNCHANGED else {"payload": payload}
        listed = None if job_ids is None else _ids(job_ids)
        return cast(int, (await self._call("queue::redrive", replaced, queue=queue, job_ids=listed))["redriven"])

    redrive = blocking(redrive_async)

    async def discard_async(self, queue: str, job_ids: Iterable[str]) -> int:
        """Deletes dead-letter entries, all of these or none. Returns their number."""
        return cast(int, (await self._call("queue::discard", queue=queue, job_ids=_ids(job_ids)))["discarded"])

    discard = blocking(discard_async)


_JOB_MEMBERS = tuple(JobToEnqueue.__annotations__)


def _job(job: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the job's wire form, without members that are None. None is a value of ``data``."""
    checked_item(job, "a job", _JOB_MEMBERS)
    members = {name: value for name, value in job.items() if value is not None}
    run_at = members.get("run_at")
    if isinstance(run_at, datetime):
        members["run_at"] = _instant(run_at)
    return {**members, "data": job.get("data")}


def _instant(time: datetime) -> str:
    if time.tzinfo is None:
        raise CallError("invalid_input", "run_at has no time zone; use e.g. datetime.now(timezone.utc) + delay")
    # UTC with milliseconds is the form that every engine reads.
    return time.astimezone(timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _ids(job_ids: Iterable[str]) -> list[str]:
    if isinstance(job_ids, str):
        raise CallError("invalid_input", "job_ids must be a list of ids, not one string")
    return list(job_ids)
