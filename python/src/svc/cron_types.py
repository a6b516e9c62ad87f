"""Results of ``worker.cron``, and config and payload of cron triggers. Members have the names of the wire."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias, TypedDict

#: Handling of a tick during the previous run: it is skipped (default), it starts too, or one run starts when the
#: previous run ends.
CronOverlap: TypeAlias = Literal["skip", "allow", "queue_one"]
#: Handling of ticks that could not start for more than 60 s: they are skipped (default), one run starts for all of
#: them, or one run for each, at most 100.
CronMisfire: TypeAlias = Literal["skip", "once", "all"]
CronOutcome: TypeAlias = Literal["ok", "error", "skipped", "enqueued"]


class _CronTriggerConfig(TypedDict):
    expression: str


class CronTriggerConfig(_CronTriggerConfig, total=False):
    """Config of triggers of the type ``cron``.

    Attributes:
        expression: Five fields (minute hour day month weekday), six (seconds first) or seven (with a year); or
            ``@hourly``, ``@daily``, ``@weekly``, ``@monthly``, ``@yearly``.
        timezone: IANA time zone of the expression, e.g. ``Europe/Berlin``. Default UTC.
        queue: Puts a job for the function on this queue instead of calling it.
        jitter_ms: Maximum random delay of each trigger. Default 0.
        start_at: No tick before this time, RFC 3339 with offset, e.g. ``2026-03-01T00:00:00Z``.
        end_at: No tick after this time.
        condition_function_id: Called first, with the payload. If it returns False, the tick is skipped.
    """

    timezone: str
    overlap: CronOverlap
    misfire: CronMisfire
    queue: str
    jitter_ms: int
    start_at: str
    end_at: str
    condition_function_id: str


class _CronEvent(TypedDict):
    trigger: Literal["cron"]
    job_id: str
    scheduled_time: str
    actual_time: str


class CronEvent(_CronEvent, total=False):
    """Payload of a cron trigger. ``job_id``: the trigger's id. ``scheduled_time``: the tick, ``actual_time``: when the
    call started; RFC 3339 in UTC. ``manual``: started by ``trigger_now``; absent if started by the schedule."""

    manual: bool


class _CronRun(TypedDict):
    scheduled_time: str
    started_at: str | None
    finished_at: str | None
    outcome: CronOutcome | None


class CronRun(_CronRun, total=False):
    """A run of a cron trigger, or a skipped tick.

    Attributes:
        started_at: None if no run started.
        outcome: None while it runs. ``enqueued``: the job was put on the trigger's queue.
        error: Why the run failed or did not start.
        manual: Started by ``trigger_now``.
        passed_over: Number of skipped ticks that this entry represents.
    """

    error: str
    manual: bool
    passed_over: int


class CronTriggered(CronRun, total=False):
    """Result of ``trigger_now``. ``result``: the function's result; absent if it returned nothing."""

    trigger_id: str
    function_id: str
    result: Any


class _CronStanding(TypedDict):
    trigger_id: str
    status: Literal["active", "paused", "inactive", "error"]
    next_runs: list[str]


class CronStanding(_CronStanding, total=False):
    """Status of a trigger. ``reason``: why it is inactive or in error. ``next_runs``: its next five ticks, RFC 3339 in
    UTC; empty while it is paused."""

    reason: str


class _CronSchedule(CronStanding):
    function_id: str
    expression: str
    timezone: str
    overlap: CronOverlap
    misfire: CronMisfire
    queue: str | None


class CronSchedule(_CronSchedule, total=False):
    """A cron trigger and its schedule. ``last_run`` is absent if it never ran."""

    last_run: CronRun
