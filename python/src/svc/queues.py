"""``worker.queue``: durable jobs and messages, kept by the engine's module ``svc-queue``."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Mapping
from datetime import datetime
from typing import Any, cast

from . import queue_requests as requests
from .blocking import Helper, blocking, blocking_iterator
from .queue_requests import UNCHANGED
from .queue_types import EndedJob, EnqueuedJob, JobPage, JobState, JobToEnqueue, QueueJob, QueueStats

# Within the class `list` is a method.
_Enqueued = list[EnqueuedJob]
_Stats = list[QueueStats]


class Queues(Helper):
    """Every method has an ``_async`` form, for async handlers and other event loops.

    A job runs at least once: it is tried again when its handler fails, and ends as done or as a dead letter. It waits
    while no worker has its function. ``context.job`` tells the handler which job and which attempt it is.

    All raise CallError as ``worker.call`` does: ``function_not_found`` where the engine does not run ``svc-queue``,
    ``queue_not_found``, ``job_not_found``, ``queue_full``, ``payload_too_large``, ``storage_failed``.
    """

    _name = "queue"

    # ---- putting in

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
        return cast(EnqueuedJob, await self._calls.call(request))

    enqueue = blocking(enqueue_async)

    async def enqueue_many_async(self, jobs: Iterable[JobToEnqueue | Mapping[str, Any]]) -> _Enqueued:
        """Stores 1 to 1,000 jobs, all or none; the answers have their order."""
        return cast(_Enqueued, (await self._calls.call(requests.enqueue_many(jobs)))["jobs"])

    enqueue_many = blocking(enqueue_many_async)

    async def publish_async(self, topic: str, data: Any = None) -> None:
        """Gives each ``durable:subscriber`` trigger on the topic a message, also while its worker is away.

        Returns when the messages are on the disk. What is only for those who listen right now: ``worker.event``.
        """
        await self._calls.call(requests.publish(topic, data))

    publish = blocking(publish_async)

    # ---- looking

    async def list_async(self) -> _Stats:
        """All queues with what they hold."""
        return cast(_Stats, (await self._calls.call(requests.list_()))["queues"])

    list = blocking(list_async)

    async def stats_async(self, queue: str) -> QueueStats:
        """What a queue holds."""
        return cast(QueueStats, await self._calls.call(requests.stats(queue)))

    stats = blocking(stats_async)

    async def peek_async(
        self, queue: str, state: JobState = "waiting", *, cursor: str | None = None, limit: int | None = None
    ) -> JobPage:
        """One page of the jobs in a state; nothing is taken out. ``cursor`` is the one of the page before."""
        return cast(JobPage, await self._calls.call(requests.peek(queue, state, cursor, limit)))

    peek = blocking(peek_async)

    async def jobs_async(
        self, queue: str, state: JobState = "waiting", *, page_size: int | None = None
    ) -> AsyncIterator[QueueJob]:
        """All jobs in a state, fetched page by page. Dead ones: the latest first."""
        cursor: str | None = None
        while True:
            page = await self.peek_async(queue, state, cursor=cursor, limit=page_size)
            for job in page["jobs"]:
                yield job
            cursor = page["cursor"]
            if cursor is None:
                return

    jobs = blocking_iterator(jobs_async)

    async def get_job_async(self, job_id: str) -> QueueJob | EndedJob:
        """A job by its id. Raises ``job_not_found`` for one that has ended and is no longer remembered."""
        return cast("QueueJob | EndedJob", await self._calls.call(requests.get_job(job_id)))

    get_job = blocking(get_job_async)

    # ---- steering

    async def pause_async(self, queue: str) -> None:
        """Starts no job until ``resume``, over restarts too; jobs are still accepted."""
        await self._calls.call(requests.pause(queue))

    pause = blocking(pause_async)

    async def resume_async(self, queue: str) -> None:
        """Starts jobs again."""
        await self._calls.call(requests.resume(queue))

    resume = blocking(resume_async)

    async def purge_async(self, queue: str) -> int:
        """Takes out what waits or is delayed, and counts that."""
        return cast(int, (await self._calls.call(requests.purge(queue)))["purged"])

    purge = blocking(purge_async)

    async def cancel_async(self, job_id: str) -> None:
        """Takes a job out; one that runs is withdrawn from its worker."""
        await self._calls.call(requests.cancel(job_id))

    cancel = blocking(cancel_async)

    # ---- dead letters

    async def redrive_async(self, queue: str, *, job_ids: Iterable[str] | None = None, payload: Any = UNCHANGED) -> int:
        """Puts dead letters back on their queue with all their attempts before them, and counts them.

        Args:
            job_ids: Only these; if one of them is no dead letter of the queue, none is redriven (``job_not_found``).
                Default: all.
            payload: Data in place of theirs.
        """
        return cast(int, (await self._calls.call(requests.redrive(queue, job_ids, payload)))["redriven"])

    redrive = blocking(redrive_async)

    async def discard_async(self, queue: str, job_ids: Iterable[str]) -> int:
        """Takes dead letters out, all of these or none, and counts them."""
        return cast(int, (await self._calls.call(requests.discard(queue, job_ids)))["discarded"])

    discard = blocking(discard_async)
