"""Arguments and results of ``worker.queue``, and config of triggers on queues. Members have the names of the wire.

Handlers receive a job's data as it was enqueued. ``context.job`` identifies the job.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal, TypeAlias, TypedDict

JobState: TypeAlias = Literal["waiting", "active", "delayed", "dead"]


class _JobToEnqueue(TypedDict):
    queue: str
    function_id: str | None


class JobToEnqueue(_JobToEnqueue, total=False):
    """One job of ``enqueue_many``. The members are the arguments of ``enqueue``."""

    data: Any
    delay_ms: int
    run_at: datetime | str
    priority: int
    dedupe_key: str
    expires_in_ms: int
    group: str
    max_attempts: int


class EnqueuedJob(TypedDict):
    """``duplicate``: the dedupe key was in use. Nothing was stored, and ``job_id`` is the existing job."""

    job_id: str
    duplicate: bool


class JobFailure(TypedDict):
    """A failed attempt. ``attempt`` starts at 1, ``at`` is RFC 3339 in UTC, ``worker`` is name and id."""

    attempt: int
    at: str
    code: str
    message: str
    stack: str | None
    worker: str | None
    trace_id: str | None


class JobProgress(TypedDict):
    """How far a running attempt is, as its handler reported: ``value`` is 0 to 1, ``at`` is RFC 3339 in UTC."""

    value: float
    note: str | None
    at: str


class _CommonJob(TypedDict):
    job_id: str
    queue: str
    function_id: str | None
    attempts: int
    max_attempts: int
    priority: int
    created_at: str
    group: str | None
    dedupe_key: str | None
    made_by: dict[str, str | None] | None
    trace_id: str | None
    bytes: int
    failures: list[JobFailure]


class QueueJob(_CommonJob):
    """A job on its queue. Times are RFC 3339 in UTC.

    Attributes:
        function_id: None: for the queue's triggers.
        attempts: Number of failed attempts.
        run_at: Earliest start of a delayed job.
        made_by: ``principal`` and ``role`` of the restricted caller that enqueued it; None: a trusted caller.
        failed_at: When a dead job moved to the dead-letter queue.
        reason: Why no worker can run it now, e.g. nobody provides its function. None if one can.
        progress: Last report of the running attempt.
        bytes: Size of its data.
        failures: The last 20, the oldest first.
    """

    state: JobState
    data: Any
    run_at: str | None
    expires_at: str | None
    failed_at: str | None
    reason: str | None
    progress: JobProgress | None


class DoneJob(_CommonJob):
    """A job that succeeded. Its queue keeps the latest ones, see ``keep_completed`` of its config.

    Attributes:
        result: None if it is not kept.
        result_kept: False if the result was larger than 64 KiB.
        duration_ms: Duration of the last attempt.
        kept_until: It is deleted at this time, or earlier if newer ones take its place.
    """

    state: Literal["done"]
    result: Any
    result_kept: bool
    ended_at: str
    duration_ms: int
    kept_until: str


class EndedJob(TypedDict):
    """A job that has ended and of which only the dedupe key is remembered."""

    job_id: str
    queue: str
    state: Literal["done", "cancelled", "expired"]


class JobPage(TypedDict):
    """``cursor``: for the next page; None on the last page."""

    jobs: list[QueueJob]
    cursor: str | None


class DoneJobPage(TypedDict):
    """The latest first. ``cursor``: for the next page; None on the last page."""

    jobs: list[DoneJob]
    cursor: str | None


class QueueStats(TypedDict):
    """Job counts of a queue. ``added`` to ``cancelled`` are totals since its first use.

    Attributes:
        waiting: Ready to run, or waiting for another job of their group.
        bytes: Size of the data of all jobs, including dead ones.
        kept: Done jobs that are kept.
        waiting_reasons: Why no worker can run some of the oldest waiting jobs.
        type: None: the queue has jobs, but is not declared.
        topic: Topic of the durable subscription that the queue belongs to.
    """

    queue: str
    waiting: int
    delayed: int
    active: int
    dead: int
    bytes: int
    paused: bool
    added: int
    done: int
    died: int
    expired: int
    cancelled: int
    kept: int
    waiting_reasons: list[str]
    type: Literal["standard", "fifo"] | None
    concurrency: int | None
    topic: str | None


class _QueueTriggerConfig(TypedDict):
    queue: str


class QueueTriggerConfig(_QueueTriggerConfig, total=False):
    """Config of triggers of the type ``queue``, which run the jobs without a function.

    ``condition_function_id``: called first, with the data. If it returns False, the job is done without having run.
    """

    condition_function_id: str


class DurableQueueConfig(TypedDict, total=False):
    """Delivery options of a durable subscription.

    Attributes:
        type: ``fifo``: one after another; ``standard`` (default): concurrently.
        maxRetries: Attempts after the first one.
        concurrency: Maximum number of concurrent deliveries.
        visibilityTimeout: Deadline of one attempt, in seconds.
        delaySeconds: Delay of each message before its first attempt.
        backoffDelayMs: Delay before the first retry. ``backoffType`` determines the later ones.
    """

    type: Literal["standard", "fifo"]
    maxRetries: int
    concurrency: int
    visibilityTimeout: int
    delaySeconds: int
    backoffType: Literal["exponential", "linear", "fixed"]
    backoffDelayMs: int


class _DurableSubscriberTriggerConfig(TypedDict):
    topic: str


class DurableSubscriberTriggerConfig(_DurableSubscriberTriggerConfig, total=False):
    """Config of triggers of the type ``durable:subscriber``. Messages wait while the worker is disconnected."""

    condition_function_id: str
    queue_config: DurableQueueConfig
