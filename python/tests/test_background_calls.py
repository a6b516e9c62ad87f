"""Calls and results of the methods of ``worker.cron``, ``worker.event`` and ``worker.queue``."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest

import svc
from async_forms import AsyncForms
from engine import Engine

Connect = Callable[..., svc.Worker]
Method = Callable[[Any], Any]

JOB = {"job_id": "j", "duplicate": False}
WHOLE: svc.JobToEnqueue = {
    "queue": "q",
    "function_id": "f",
    "data": 0,
    "delay_ms": 1,
    "priority": 0,
    "dedupe_key": "",
    "expires_in_ms": 2,
    "group": "g",
    "max_attempts": 3,
}
NOON = datetime(2026, 3, 1, 12, 0, 0, 500_000, timezone(timedelta(hours=1)))
NOON_SENT = "2026-03-01T11:00:00.500Z"

#: Method, function that it calls, payload, result of the function, result of the method.
ASKED: list[tuple[Method, str, dict[str, Any], Any, Any]] = [
    (lambda w: w.cron.history("t", limit=3), "cron::history", {"trigger_id": "t", "limit": 3}, {"runs": [1]}, [1]),
    (lambda w: w.cron.trigger_now("t"), "cron::trigger_now", {"trigger_id": "t"}, {"outcome": "ok"}, {"outcome": "ok"}),
    (lambda w: w.cron.pause("t"), "cron::pause", {"trigger_id": "t"}, {"status": "paused"}, {"status": "paused"}),
    (lambda w: w.cron.resume("t"), "cron::resume", {"trigger_id": "t"}, {"status": "active"}, {"status": "active"}),
    (lambda w: w.event.publish("a.b", {"n": 1}), "publish", {"topic": "a.b", "data": {"n": 1}}, None, None),
    (lambda w: w.event.publish("a.b"), "publish", {"topic": "a.b", "data": None}, None, None),
    (lambda w: w.event.emit("a.b", 0), "event::emit", {"event": "a.b", "data": 0}, {"delivered_to": 2}, 2),
    (lambda w: w.event.list(), "event::list", {}, {"topics": []}, []),
    (lambda w: w.queue.enqueue("q", "f"), "queue::enqueue", {"queue": "q", "function_id": "f", "data": None}, JOB, JOB),
    (lambda w: w.queue.enqueue("q", None, []), "queue::enqueue", {"queue": "q", "data": []}, JOB, JOB),
    (
        lambda w: w.queue.enqueue(
            "q", "f", 0, delay_ms=1, priority=0, dedupe_key="", expires_in_ms=2, group="g", max_attempts=3
        ),
        "queue::enqueue",
        dict(WHOLE),
        JOB,
        JOB,
    ),
    (
        lambda w: w.queue.enqueue("q", "f", run_at=NOON),
        "queue::enqueue",
        {"queue": "q", "function_id": "f", "data": None, "run_at": NOON_SENT},
        JOB,
        JOB,
    ),
    (
        lambda w: w.queue.enqueue_many(
            iter([WHOLE, {"queue": "q", "function_id": "f", "run_at": NOON, "group": None}])
        ),
        "queue::enqueue_many",
        {"jobs": [dict(WHOLE), {"queue": "q", "function_id": "f", "run_at": NOON_SENT, "data": None}]},
        {"jobs": [JOB, JOB]},
        [JOB, JOB],
    ),
    (lambda w: w.queue.publish("t", None), "svc::durable::publish", {"topic": "t", "data": None}, None, None),
    (lambda w: w.queue.list(), "queue::list", {}, {"queues": [{"queue": "q"}]}, [{"queue": "q"}]),
    (lambda w: w.queue.stats("q"), "queue::stats", {"queue": "q"}, {"waiting": 1}, {"waiting": 1}),
    (
        lambda w: w.queue.peek("q", "dead", cursor="c", limit=5),
        "queue::peek",
        {"queue": "q", "state": "dead", "cursor": "c", "limit": 5},
        {"jobs": [], "cursor": None},
        {"jobs": [], "cursor": None},
    ),
    (lambda w: w.queue.get_job("j"), "queue::get_job", {"job_id": "j"}, {"state": "dead"}, {"state": "dead"}),
    (lambda w: w.queue.pause("q"), "queue::pause", {"queue": "q"}, {"paused": True}, None),
    (lambda w: w.queue.resume("q"), "queue::resume", {"queue": "q"}, {"paused": False}, None),
    (lambda w: w.queue.purge("q"), "queue::purge", {"queue": "q"}, {"purged": 4}, 4),
    (lambda w: w.queue.cancel("j"), "queue::cancel", {"job_id": "j"}, {"cancelled": True}, None),
    (lambda w: w.queue.redrive("q"), "queue::redrive", {"queue": "q"}, {"redriven": 2}, 2),
    (
        lambda w: w.queue.redrive("q", job_ids=("j",), payload=None),
        "queue::redrive",
        {"queue": "q", "job_ids": ["j"], "payload": None},
        {"redriven": 1},
        1,
    ),
    (
        lambda w: w.queue.discard("q", {"j": 1}),
        "queue::discard",
        {"queue": "q", "job_ids": ["j"]},
        {"discarded": 1},
        1,
    ),
]


@pytest.mark.parametrize(("method", "function_id", "payload", "answer", "returned"), ASKED)
def test_both_forms_send_the_same_call(
    connect: Connect,
    engine: Engine,
    method: Method,
    function_id: str,
    payload: dict[str, Any],
    answer: Any,
    returned: Any,
) -> None:
    provider, worker = connect("provider"), connect("worker")
    heard: list[Any] = []

    def note(input: Any) -> Any:
        heard.append(input)
        return answer

    provider.register_function(function_id, note)
    engine.peer().heard("registerfunction", id=function_id)

    async def of_async_form() -> Any:
        return await method(AsyncForms(worker))

    assert method(worker) == returned
    assert asyncio.run(of_async_form()) == returned
    assert heard == [payload, payload]


def provide_pages(provider: svc.Worker, engine: Engine, function_id: str, member: str, expected: Any) -> None:
    pages = {None: ([1], "x"), "x": ([], "y"), "y": ([2, 3], None)}

    def page(input: dict[str, Any]) -> Any:
        cursor = input.pop("cursor", None)
        assert input == expected
        items, following = pages[cursor]
        return {member: items, "cursor": following}

    provider.register_function(function_id, page)
    engine.peer().heard("registerfunction", id=function_id)


def test_cron_list_and_queue_jobs_fetch_all_pages(connect: Connect, engine: Engine) -> None:
    provider, worker = connect("provider"), connect("worker")
    provide_pages(provider, engine, "cron::list", "triggers", {"limit": 1_000})
    provide_pages(provider, engine, "queue::peek", "jobs", {"queue": "q", "state": "delayed", "limit": 2})

    async def of_async_forms() -> Any:
        return await worker.cron.list_async(), [
            job async for job in worker.queue.jobs_async("q", "delayed", page_size=2)
        ]

    whole: list[Any] = [1, 2, 3]
    assert (worker.cron.list(), list(worker.queue.jobs("q", "delayed", page_size=2))) == (whole, whole)
    assert asyncio.run(of_async_forms()) == (whole, whole)


def test_trigger_now_accepts_a_timeout(connect: Connect, engine: Engine) -> None:
    provider, worker = connect("provider"), connect("worker")
    provider.register_function("cron::trigger_now", lambda _: {"outcome": "ok"})
    engine.peer().heard("registerfunction", id="cron::trigger_now")
    worker.cron.trigger_now("t", timeout_ms=77_000)
    assert engine.peer(1).heard("invokefunction", function_id="cron::trigger_now")["timeout_ms"] == 77_000


def test_blocking_forms_raise_in_async_handlers_and_name_the_async_form(connect: Connect, engine: Engine) -> None:
    provider, worker = connect("provider"), connect("worker")
    provider.register_function("queue::enqueue", lambda _: JOB)
    engine.peer().heard("registerfunction", id="queue::enqueue")

    @worker.function("puts::job")
    async def put(_input: Any) -> Any:
        with pytest.raises(
            RuntimeError, match=r"worker\.queue\.enqueue\(\) would block .* worker\.queue\.enqueue_async"
        ):
            worker.queue.enqueue("q", "f")
        return await worker.queue.enqueue_async("q", "f")

    assert engine.answer_to(engine.call("puts::job", None))["result"] == JOB


def test_invalid_arguments_are_rejected_before_sending(connect: Connect) -> None:
    worker = connect()
    for mistake in (
        lambda: worker.queue.enqueue("q", "f", run_at=datetime(2026, 3, 1)),
        lambda: worker.queue.enqueue_many([{"queue": "q", "function_id": "f", "run_at": datetime(2026, 3, 1)}]),
        lambda: worker.queue.enqueue("q", "f", {1, 2}),
        lambda: worker.queue.redrive("q", job_ids="abc"),
        lambda: worker.queue.discard("q", "abc"),
        lambda: worker.event.publish("t", object()),
    ):
        with pytest.raises(svc.CallError) as refused:
            mistake()
        assert refused.value.code == "invalid_input"
