"""What ``worker.queue`` takes and answers, and what triggers on queues take; members have the names of the wire.

Handlers get a job's data as it was enqueued; ``context.job`` says which job it is.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal, TypeAlias, TypedDict

JobState: TypeAlias = Literal["waiting", "active", "delayed", "dead"]


class _JobToEnqueue(TypedDict):
    queue: str
    function_id: str | None


class JobToEnqueue(_JobToEnqueue, total=False):
    """One job of ``enqueue_many``; the members are the arguments of ``enqueue``."""

    data: Any
    delay_ms: int
    run_at: datetime | str
    priority: int
    dedupe_key: str
    expires_in_ms: int
    group: str
    max_attempts: int


class EnqueuedJob(TypedDict):
    """``duplicate``: the dedupe key was in use; nothing was stored, and ``job_id`` is the job that has it."""

    job_id: str
    duplicate: bool


class JobFailure(TypedDict):
    """One attempt that failed. ``attempt`` counts from 1, ``at`` is RFC 3339 in UTC, ``worker`` name and id."""

    attempt: int
    at: str
    code: str
    message: str
    stack: str | None
    worker: str | None
    trace_id: str | None


class QueueJob(TypedDict):
    """A job as it lies on its queue. Times are RFC 3339 in UTC.

    Attributes:
        function_id: None: for the queue's triggers.
        attempts: Those that ran and failed.
        run_at: When it may run, of a delayed one.
        made_by: ``principal`` and ``role`` of the restricted caller that made it; None: a trusted one.
        failed_at: When it died, of a dead one.
        bytes: Of its data.
        failures: The last 20, the oldest first; the last one of a dead job is why it died.
    """

    job_id: str
    queue: str
    function_id: str | None
    state: JobState
    data: Any
    attempts: int
    max_attempts: int
    priority: int
    created_at: str
    run_at: str | None
    expires_at: str | None
    group: str | None
    dedupe_key: str | None
    made_by: dict[str, str | None] | None
    failed_at: str | None
    trace_id: str | None
    bytes: int
    failures: list[JobFailure]


class EndedJob(TypedDict):
    """A job that is over; it is remembered as long as its dedupe key is."""

    job_id: str
    queue: str
    state: Literal["done", "cancelled", "expired"]


class JobPage(TypedDict):
    """``cursor`` leads to the next page; None behind the last."""

    jobs: list[QueueJob]
    cursor: str | None


class QueueStats(TypedDict):
    """What a queue holds, and what became of its jobs since it was first used (``added`` to ``cancelled``).

    Attributes:
        waiting: Ready, or behind another of their group.
        bytes: Of the data of all jobs, dead ones too.
        type: None: the queue holds something, but is not declared.
        topic: Where it is the queue of a durable subscription: its topic.
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
    type: Literal["standard", "fifo"] | None
    concurrency: int | None
    topic: str | None


class _QueueTriggerConfig(TypedDict):
    queue: str


class QueueTriggerConfig(_QueueTriggerConfig, total=False):
    """Config of triggers of the type ``queue``, which run the jobs that name no function.

    ``condition_function_id``: called with the data first; when it answers False, the job is done without having run.
    """

    condition_function_id: str


class DurableQueueConfig(TypedDict, total=False):
    """How the messages of a durable subscription are dealt with.

    Attributes:
        type: ``fifo``: one after another; ``standard`` (default): beside each other.
        maxRetries: Attempts after the first one.
        concurrency: Messages in hand at a time.
        visibilityTimeout: Deadline of one attempt in seconds.
        delaySeconds: Each message waits so long first.
        backoffDelayMs: What a failed message waits first; then as ``backoffType`` says.
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
    """Config of triggers of the type ``durable:subscriber``; messages wait for a function whose worker is away."""

    condition_function_id: str
    queue_config: DurableQueueConfig
