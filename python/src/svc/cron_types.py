"""What ``worker.cron`` answers, and what cron triggers take and hand over; members have the names of the wire."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias, TypedDict

#: What becomes of a tick that comes while the run before goes on: passed over (default), started as well, or one
#: started when that run ends.
CronOverlap: TypeAlias = Literal["skip", "allow", "queue_one"]
#: What becomes of ticks that could not start for more than 60 s: passed over (default), one started for all of them,
#: or each started, 100 at most.
CronMisfire: TypeAlias = Literal["skip", "once", "all"]
CronOutcome: TypeAlias = Literal["ok", "error", "skipped", "enqueued"]


class _CronTriggerConfig(TypedDict):
    expression: str


class CronTriggerConfig(_CronTriggerConfig, total=False):
    """Config of triggers of the type ``cron``.

    Attributes:
        expression: Five fields (minute hour day month weekday), six (seconds first) or seven (and a year); or
            ``@hourly``, ``@daily``, ``@weekly``, ``@monthly``, ``@yearly``.
        timezone: IANA zone that the expression is read in, e.g. ``Europe/Berlin``. Default UTC.
        queue: Puts a job for the function on this queue in place of calling it; the job is dealt with as any other.
        jitter_ms: Starts each trigger later by an amount of its own, from 0 to this. Default 0.
        start_at: No tick before this instant, RFC 3339 with offset, e.g. ``2026-03-01T00:00:00Z``.
        end_at: No tick after this instant.
        condition_function_id: Called with the payload first; the tick is passed over when it answers False.
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
    call was begun; RFC 3339 in UTC. ``manual``: ``trigger_now`` asked for it; absent where its schedule did."""

    manual: bool


class _CronRun(TypedDict):
    scheduled_time: str
    started_at: str | None
    finished_at: str | None
    outcome: CronOutcome | None


class CronRun(_CronRun, total=False):
    """What became of a tick.

    Attributes:
        started_at: None when nothing was started.
        outcome: None while it goes on. ``enqueued``: the job was put on the trigger's queue.
        error: Why the run failed or nothing was started.
        manual: ``trigger_now`` asked for it.
        passed_over: Ticks that nothing was started for and that this line stands for.
    """

    error: str
    manual: bool
    passed_over: int


class CronTriggered(CronRun, total=False):
    """Answer of ``trigger_now``. ``result``: what the function returned; absent when it returned nothing."""

    trigger_id: str
    function_id: str
    result: Any


class _CronStanding(TypedDict):
    trigger_id: str
    status: Literal["active", "paused", "inactive", "error"]
    next_runs: list[str]


class CronStanding(_CronStanding, total=False):
    """How a trigger stands. ``reason``: why it is inactive or in error. ``next_runs``: its next five ticks, RFC 3339 in
    UTC; none while it is paused."""

    reason: str


class _CronSchedule(CronStanding):
    function_id: str
    expression: str
    timezone: str
    overlap: CronOverlap
    misfire: CronMisfire
    queue: str | None


class CronSchedule(_CronSchedule, total=False):
    """A cron trigger and when it runs. ``last_run`` is absent when there was none."""

    last_run: CronRun


class CronPage(TypedDict):
    """``cursor`` leads to the next page; None behind the last. ``total``: triggers on all pages."""

    triggers: list[CronSchedule]
    cursor: str | None
    total: int
