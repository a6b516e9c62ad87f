"""``worker.cron`` and triggers of the type ``cron`` against the real engine's svc-cron."""

from __future__ import annotations

import asyncio
import queue
from collections.abc import Callable
from datetime import datetime, timezone

import pytest

import svc

Connect = Callable[..., svc.Worker]


def bind(worker: svc.Worker, function_id: str, config: svc.CronTriggerConfig) -> str:
    trigger = worker.register_trigger({"type": "cron", "function_id": function_id, "config": config})
    assert trigger.wait_registered(timeout_s=20) == "active"
    return trigger.id


def test_a_tick_calls_the_function_with_its_scheduled_time(connect_background: Connect) -> None:
    worker = connect_background()
    events: queue.SimpleQueue[svc.CronEvent] = queue.SimpleQueue()

    @worker.function("cron-tick::note")
    def note(event: svc.CronEvent) -> None:
        events.put(event)

    trigger_id = bind(worker, "cron-tick::note", {"expression": "* * * * * *"})
    first, second = events.get(timeout=20), events.get(timeout=20)
    assert (first["trigger"], first["job_id"]) == ("cron", trigger_id)
    times = [datetime.fromisoformat(event["scheduled_time"].replace("Z", "+00:00")) for event in (first, second)]
    assert times[0] < times[1]
    assert [(time.microsecond, time.tzinfo) for time in times] == [(0, timezone.utc)] * 2
    assert first["actual_time"] >= first["scheduled_time"]


def test_schedules_are_listed_with_their_next_runs_and_their_last_one(connect_background: Connect) -> None:
    worker = connect_background()
    worker.register_function("cron-list::noon", lambda _: {"n": 1})
    config: svc.CronTriggerConfig = {
        "expression": "0 0 12 1 1 * 2099",
        "timezone": "Europe/Berlin",
        "overlap": "queue_one",
        "misfire": "once",
    }
    trigger_id = bind(worker, "cron-list::noon", config)

    def listed() -> svc.CronSchedule:
        (found,) = [schedule for schedule in worker.cron.list() if schedule["trigger_id"] == trigger_id]
        return found

    assert "last_run" not in listed()
    ran = worker.cron.trigger_now(trigger_id)
    assert (ran["outcome"], ran["manual"], ran["function_id"], ran["result"]) == (
        "ok",
        True,
        "cron-list::noon",
        {"n": 1},
    )
    schedule = listed()
    assert schedule["next_runs"] == ["2099-01-01T11:00:00.000Z"]
    assert schedule["last_run"]["scheduled_time"] == ran["scheduled_time"]
    assert (schedule["status"], schedule["timezone"]) == ("active", "Europe/Berlin")
    assert (schedule["overlap"], schedule["misfire"], schedule["queue"]) == ("queue_one", "once", None)


def test_a_failed_run_is_returned_and_stored_with_its_error(connect_background: Connect) -> None:
    worker = connect_background()

    @worker.function("cron-fails::late")
    def fail(_event: svc.CronEvent) -> None:
        raise svc.CallError("no_paper", "the printer is empty")

    trigger_id = bind(worker, "cron-fails::late", {"expression": "@yearly"})
    ran = worker.cron.trigger_now(trigger_id)
    assert ran["outcome"] == "error"
    assert "the printer is empty" in ran["error"]
    worker.cron.trigger_now(trigger_id)
    runs = worker.cron.history(trigger_id)
    assert [run["outcome"] for run in runs] == ["error", "error"]
    assert runs[0]["scheduled_time"] >= runs[1]["scheduled_time"] == ran["scheduled_time"]
    assert worker.cron.history(trigger_id, limit=1) == runs[:1]


def test_a_paused_schedule_has_no_next_runs_until_it_is_resumed(connect_background: Connect) -> None:
    worker = connect_background()
    worker.register_function("cron-pause::yearly", lambda _: None)
    trigger_id = bind(worker, "cron-pause::yearly", {"expression": "@yearly"})
    paused = worker.cron.pause(trigger_id)
    assert (paused["status"], paused["next_runs"]) == ("paused", [])
    resumed = worker.cron.resume(trigger_id)
    assert (resumed["status"], len(resumed["next_runs"])) == ("active", 5)


def test_an_invalid_schedule_is_rejected_with_the_reason(connect_background: Connect) -> None:
    worker = connect_background()
    worker.register_function("cron-refused::f", lambda _: None)
    for config in ({"expression": "61 * * * *"}, {"expression": "* * * * *", "timezone": "Mars/Olympus"}, {}):
        trigger = worker.register_trigger({"type": "cron", "function_id": "cron-refused::f", "config": config})
        with pytest.raises(svc.CallError, match=r"61|Mars/Olympus|required"):
            trigger.wait_registered(timeout_s=20)
    with pytest.raises(svc.CallError) as unknown:
        worker.cron.pause("no such trigger")
    assert unknown.value.code == "NOT_FOUND"


def test_event_loops_use_the_async_forms(connect_background: Connect) -> None:
    worker = connect_background()
    worker.register_function("cron-async::f", lambda _: "done")
    trigger_id = bind(worker, "cron-async::f", {"expression": "@yearly"})

    async def use() -> None:
        cron = worker.cron
        assert (await cron.trigger_now_async(trigger_id))["result"] == "done"
        assert [run["outcome"] for run in await cron.history_async(trigger_id)] == ["ok"]
        assert (await cron.pause_async(trigger_id))["status"] == "paused"
        assert (await cron.resume_async(trigger_id))["status"] == "active"
        assert trigger_id in [schedule["trigger_id"] for schedule in await cron.list_async()]

    asyncio.run(use())
