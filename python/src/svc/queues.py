"""``worker.queue``: durable jobs and messages, kept by the engine's module ``svc-queue``."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any, cast

from . import queue_requests as requests
from .helper_calls import HelperCalls
from .queue_requests import UNCHANGED
from .queue_types import EndedJob, EnqueuedJob, JobPage, JobState, JobToEnqueue, QueueJob, QueueStats

# Within the class `list` is a method.
_Enqueued = list[EnqueuedJob]
_Stats = list[QueueStats]


class Queues:
    """Every method has an ``_async`` form, for async handlers and other event loops.

    A job runs at least once: it is tried again when its handler fails, and ends as done or as a dead letter. It waits
    while no worker has its function. ``context.job`` tells the handler which job and which attempt it is.

    All raise CallError as ``worker.call`` does: ``function_not_found`` where the engine does not run ``svc-queue``,
    ``queue_not_found``, ``job_not_found``, ``queue_full``, ``payload_too_large``, ``storage_failed``.
    """

    def __init__(self, calls: HelperCalls) -> None:
        self._calls = calls

    # ---- putting in

    def enqueue(
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
        """Puts a call of the function on a queue. Returns when the job is on the disk.

        Args:
            function_id: None: for the queue's triggers.
            data: What the function is called with.
            delay_ms: Runs so many milliseconds from now at the earliest. Not together with ``run_at``.
            run_at: Runs at that time at the earliest: a datetime with a time zone, or RFC 3339.
            priority: Higher ones come first; 0 to 255, default 0.
            dedupe_key: While a job with the same key is remembered (10 minutes by default), nothing is stored and
                that job is answered.
            expires_in_ms: A job that has not begun by then is dropped.
            group: Jobs of one group run one after another, in order; groups beside each other.
            max_attempts: Attempts in all before it is a dead letter. Default: as the queue's config says, else 3.
        """
        request = requests.enqueue(
            queue=queue,
            function_id=function_id,
            data=data,
            delay_ms=delay_ms,
            run_at=run_at,
            priority=priority,
            dedupe_key=dedupe_key,
            expires_in_ms=expires_in_ms,
            group=group,
            max_attempts=max_attempts,
        )
        return cast(EnqueuedJob, self._calls.wait(request, "queue.enqueue"))

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
        """As ``enqueue``, for event loops."""
        request = requests.enqueue(
            queue=queue,
            function_id=function_id,
            data=data,
            delay_ms=delay_ms,
            run_at=run_at,
            priority=priority,
            dedupe_key=dedupe_key,
            expires_in_ms=expires_in_ms,
            group=group,
            max_attempts=max_attempts,
        )
        return cast(EnqueuedJob, await self._calls.await_(request))

    def enqueue_many(self, jobs: Iterable[JobToEnqueue | Mapping[str, Any]]) -> _Enqueued:
        """Stores 1 to 1,000 jobs, all or none; the answers have their order."""
        answer = self._calls.wait(requests.enqueue_many(jobs), "queue.enqueue_many")
        return cast(_Enqueued, answer["jobs"])

    async def enqueue_many_async(self, jobs: Iterable[JobToEnqueue | Mapping[str, Any]]) -> _Enqueued:
        """As ``enqueue_many``, for event loops."""
        return cast(_Enqueued, (await self._calls.await_(requests.enqueue_many(jobs)))["jobs"])

    def publish(self, topic: str, data: Any = None) -> None:
        """Gives each ``durable:subscriber`` trigger on the topic a message, also while its worker is away.

        Returns when the messages are on the disk. What is only for those who listen right now: ``worker.event``.
        """
        self._calls.wait(requests.publish(topic, data), "queue.publish")

    async def publish_async(self, topic: str, data: Any = None) -> None:
        """As ``publish``, for event loops."""
        await self._calls.await_(requests.publish(topic, data))

    # ---- looking

    def list(self) -> _Stats:
        """All queues with what they hold."""
        return cast(_Stats, self._calls.wait(requests.list_(), "queue.list")["queues"])

    async def list_async(self) -> _Stats:
        """As ``list``, for event loops."""
        return cast(_Stats, (await self._calls.await_(requests.list_()))["queues"])

    def stats(self, queue: str) -> QueueStats:
        """What a queue holds."""
        return cast(QueueStats, self._calls.wait(requests.stats(queue), "queue.stats"))

    async def stats_async(self, queue: str) -> QueueStats:
        """As ``stats``, for event loops."""
        return cast(QueueStats, await self._calls.await_(requests.stats(queue)))

    def peek(
        self, queue: str, state: JobState = "waiting", *, cursor: str | None = None, limit: int | None = None
    ) -> JobPage:
        """One page of the jobs in a state; nothing is taken out. ``cursor`` is the one of the page before."""
        return cast(JobPage, self._calls.wait(requests.peek(queue, state, cursor, limit), "queue.peek"))

    async def peek_async(
        self, queue: str, state: JobState = "waiting", *, cursor: str | None = None, limit: int | None = None
    ) -> JobPage:
        """As ``peek``, for event loops."""
        return cast(JobPage, await self._calls.await_(requests.peek(queue, state, cursor, limit)))

    def jobs(self, queue: str, state: JobState = "waiting", *, page_size: int | None = None) -> Iterator[QueueJob]:
        """All jobs in a state, fetched page by page. Dead ones: the latest first."""
        cursor: str | None = None
        while True:
            page = self.peek(queue, state, cursor=cursor, limit=page_size)
            yield from page["jobs"]
            cursor = page["cursor"]
            if cursor is None:
                return

    async def jobs_async(
        self, queue: str, state: JobState = "waiting", *, page_size: int | None = None
    ) -> AsyncIterator[QueueJob]:
        """As ``jobs``, for ``async for``."""
        cursor: str | None = None
        while True:
            page = await self.peek_async(queue, state, cursor=cursor, limit=page_size)
            for job in page["jobs"]:
                yield job
            cursor = page["cursor"]
            if cursor is None:
                return

    def get_job(self, job_id: str) -> QueueJob | EndedJob:
        """A job by its id. Raises ``job_not_found`` for one that has ended and is no longer remembered."""
        return cast("QueueJob | EndedJob", self._calls.wait(requests.get_job(job_id), "queue.get_job"))

    async def get_job_async(self, job_id: str) -> QueueJob | EndedJob:
        """As ``get_job``, for event loops."""
        return cast("QueueJob | EndedJob", await self._calls.await_(requests.get_job(job_id)))

    # ---- steering

    def pause(self, queue: str) -> None:
        """Starts no job until ``resume``, over restarts too; jobs are still accepted."""
        self._calls.wait(requests.pause(queue), "queue.pause")

    async def pause_async(self, queue: str) -> None:
        """As ``pause``, for event loops."""
        await self._calls.await_(requests.pause(queue))

    def resume(self, queue: str) -> None:
        """Starts jobs again."""
        self._calls.wait(requests.resume(queue), "queue.resume")

    async def resume_async(self, queue: str) -> None:
        """As ``resume``, for event loops."""
        await self._calls.await_(requests.resume(queue))

    def purge(self, queue: str) -> int:
        """Takes out what waits or is delayed, and counts that."""
        return cast(int, self._calls.wait(requests.purge(queue), "queue.purge")["purged"])

    async def purge_async(self, queue: str) -> int:
        """As ``purge``, for event loops."""
        return cast(int, (await self._calls.await_(requests.purge(queue)))["purged"])

    def cancel(self, job_id: str) -> None:
        """Takes a job out; one that runs is withdrawn from its worker."""
        self._calls.wait(requests.cancel(job_id), "queue.cancel")

    async def cancel_async(self, job_id: str) -> None:
        """As ``cancel``, for event loops."""
        await self._calls.await_(requests.cancel(job_id))

    # ---- dead letters

    def redrive(self, queue: str, *, job_ids: Iterable[str] | None = None, payload: Any = UNCHANGED) -> int:
        """Puts dead letters back on their queue with all their attempts before them, and counts them.

        Args:
            job_ids: Only these; if one of them is no dead letter of the queue, none is redriven (``job_not_found``).
                Default: all.
            payload: Data in place of theirs.
        """
        return cast(int, self._calls.wait(requests.redrive(queue, job_ids, payload), "queue.redrive")["redriven"])

    async def redrive_async(self, queue: str, *, job_ids: Iterable[str] | None = None, payload: Any = UNCHANGED) -> int:
        """As ``redrive``, for event loops."""
        return cast(int, (await self._calls.await_(requests.redrive(queue, job_ids, payload)))["redriven"])

    def discard(self, queue: str, job_ids: Iterable[str]) -> int:
        """Takes dead letters out, all of these or none, and counts them."""
        return cast(int, self._calls.wait(requests.discard(queue, job_ids), "queue.discard")["discarded"])

    async def discard_async(self, queue: str, job_ids: Iterable[str]) -> int:
        """As ``discard``, for event loops."""
        return cast(int, (await self._calls.await_(requests.discard(queue, job_ids)))["discarded"])
