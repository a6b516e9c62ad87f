"""``worker.queue``, jobs and durable messages against the real engine's svc-queue."""

from __future__ import annotations

import asyncio
import queue
import threading
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest

import svc
from real_engine import start_real_engine
from svc.testing import TestEngine

Connect = Callable[..., svc.Worker]
Jobs = queue.SimpleQueue[tuple[Any, svc.Job]]

NAMES = ("basic", "retries", "dead", "looked-at", "delayed", "paused", "many", "served", "loops")
CONFIG = {
    **{name: {"backoff_ms": 1} for name in NAMES},
    "fifo": {"type": "fifo", "message_group_field": "account", "backoff_ms": 1},
}


@pytest.fixture(scope="module")
def queue_engine() -> Iterator[TestEngine]:
    """A queue for each test."""
    with start_real_engine(["svc-queue"], {"svc-queue": {"queue_configs": CONFIG}}) as engine:
        yield engine


@pytest.fixture
def worker(queue_engine: TestEngine) -> Iterator[svc.Worker]:
    worker = queue_engine.connect("probe", logger=svc.Logger(level="silent"))
    yield worker
    worker.shutdown(timeout_s=1)


def run_jobs(worker: svc.Worker, function_id: str, handle: Callable[[Any], None] = lambda _: None) -> Jobs:
    """Data of each attempt and the handler's ``context.job``."""
    heard: Jobs = queue.SimpleQueue()

    def run(data: Any, context: svc.HandlerContext) -> None:
        assert context.job is not None
        heard.put((data, context.job))
        handle(data)

    worker.register_function(function_id, run)
    return heard


def fail(_data: Any) -> None:
    raise svc.CallError("no_paper", "the printer is empty")


def dead_letter(worker: svc.Worker, name: str, job_id: str) -> svc.QueueJob:
    """Waits until the job is in the dead-letter queue."""
    pause = threading.Event()
    for _ in range(400):
        for job in worker.queue.jobs(name, "dead"):
            if job["job_id"] == job_id:
                return job
        pause.wait(0.05)
    raise AssertionError(f"{job_id} is no dead letter")


def test_a_job_runs_with_its_data_and_its_context(worker: svc.Worker) -> None:
    heard = run_jobs(worker, "q-basic::run")
    enqueued = worker.queue.enqueue("basic", "q-basic::run", {"n": 2**70})
    assert enqueued["duplicate"] is False
    data, job = heard.get(timeout=20)
    assert data == {"n": 2**70}
    assert (job.queue, job.id, job.attempt) == ("basic", enqueued["job_id"], 1)


def test_a_running_job_reports_its_progress_and_a_done_one_is_kept_with_its_result(worker: svc.Worker) -> None:
    jobs: queue.SimpleQueue[svc.RunningJob] = queue.SimpleQueue()
    ended = threading.Event()

    def run(data: Any, context: svc.HandlerContext) -> Any:
        assert context.job is not None
        context.job.progress(0.4, "4 of 10 pages")
        jobs.put(context.job)
        assert ended.wait(20)
        return {"pages": data}

    worker.register_function("q-progress::run", run)
    job_id = worker.queue.enqueue("basic", "q-progress::run", 10)["job_id"]
    job = jobs.get(timeout=20)
    for wrong in (-0.1, 1.1, float("nan")):
        with pytest.raises(ValueError, match="a number from 0 to 1"):
            job.progress(wrong)
    with pytest.raises(ValueError, match="at most 256 characters"):
        job.progress(1, "x" * 257)
    running = worker.queue.get_job(job_id)
    assert running["state"] == "active"
    assert "progress" in running
    assert running["progress"] is not None
    assert (running["progress"]["value"], running["progress"]["note"]) == (0.4, "4 of 10 pages")
    ended.set()
    pause = threading.Event()
    for _ in range(400):
        done = next((job for job in worker.queue.done_jobs("basic") if job["job_id"] == job_id), None)
        if done is not None:
            break
        pause.wait(0.05)
    assert done is not None
    assert (done["state"], done["result"], done["attempts"], done["result_kept"]) == ("done", {"pages": 10}, 0, True)
    assert worker.queue.get_job(job_id) == done


def test_a_failed_job_is_retried_and_counts_its_attempts(worker: svc.Worker) -> None:
    failures = iter([True, False])

    def once(data: Any) -> None:
        if next(failures):
            fail(data)

    heard = run_jobs(worker, "q-retries::run", once)
    worker.queue.enqueue("retries", "q-retries::run")
    assert [heard.get(timeout=20)[1].attempt for _ in range(2)] == [1, 2]


def test_a_dead_letter_entry_has_its_error_and_can_be_redriven_or_discarded(worker: svc.Worker) -> None:
    def unless_good(data: Any) -> None:
        if data != "good":
            fail(data)

    heard = run_jobs(worker, "q-dead::run", unless_good)
    job_id = worker.queue.enqueue("dead", "q-dead::run", "bad", max_attempts=1)["job_id"]
    other_id = worker.queue.enqueue("dead", "q-dead::run", "worse", max_attempts=1)["job_id"]
    job = dead_letter(worker, "dead", job_id)
    assert (job["state"], job["attempts"], job["data"]) == ("dead", 1, "bad")
    assert [(failure["code"], failure["message"]) for failure in job["failures"]] == [
        ("no_paper", "the printer is empty")
    ]
    assert worker.queue.get_job(job_id) == job
    dead_letter(worker, "dead", other_id)
    with pytest.raises(svc.CallError) as unknown:
        worker.queue.redrive("dead", job_ids=[job_id, "no-such-job"])
    assert unknown.value.code == "job_not_found"
    assert worker.queue.redrive("dead", job_ids=[job_id], payload="good") == 1
    assert worker.queue.discard("dead", [other_id]) == 1
    assert [heard.get(timeout=20)[0] for _ in range(3)] == ["bad", "worse", "good"]
    assert list(worker.queue.jobs("dead", "dead")) == []


def test_peek_removes_nothing(worker: svc.Worker) -> None:
    worker.queue.pause("looked-at")
    ids = [worker.queue.enqueue("looked-at", "q-looked-at::run", n, dedupe_key=f"k{n}")["job_id"] for n in range(5)]
    assert worker.queue.enqueue("looked-at", "q-looked-at::run", 9, dedupe_key="k0") == {
        "job_id": ids[0],
        "duplicate": True,
    }
    first = worker.queue.peek("looked-at", limit=2)
    assert [job["data"] for job in first["jobs"]] == [0, 1]
    assert [job["job_id"] for job in worker.queue.jobs("looked-at", page_size=2)] == ids
    stats = worker.queue.stats("looked-at")
    assert (stats["waiting"], stats["delayed"], stats["dead"], stats["paused"]) == (5, 0, 0, True)
    assert stats in worker.queue.list()
    worker.queue.cancel(ids[0])
    assert worker.queue.get_job(ids[0]) == {"job_id": ids[0], "queue": "looked-at", "state": "cancelled"}
    assert worker.queue.purge("looked-at") == 4
    with pytest.raises(svc.CallError) as unknown:
        worker.queue.cancel("no-such-job")
    assert unknown.value.code == "job_not_found"
    with pytest.raises(svc.CallError) as unknown:
        worker.queue.stats("no-such-queue")
    assert unknown.value.code == "queue_not_found"


def test_a_delayed_job_has_its_start_time(worker: svc.Worker) -> None:
    noon = datetime(2099, 3, 1, 12, 0, tzinfo=timezone(timedelta(hours=1)))
    worker.queue.enqueue("delayed", "q-delayed::run", "dated", run_at=noon)
    worker.queue.enqueue("delayed", "q-delayed::run", "waits", delay_ms=60_000, expires_in_ms=90_000, priority=7)
    jobs = list(worker.queue.jobs("delayed", "delayed"))
    assert [job["data"] for job in jobs] == ["waits", "dated"]
    assert jobs[0]["priority"] == 7
    assert jobs[0]["expires_at"] is not None
    assert jobs[1]["run_at"] == "2099-03-01T11:00:00.000Z"
    heard = run_jobs(worker, "q-delayed::run")
    worker.queue.enqueue("delayed", "q-delayed::run", "soon", delay_ms=50)
    assert heard.get(timeout=20)[0] == "soon"


def test_a_paused_queue_accepts_jobs_and_runs_them_after_resume(worker: svc.Worker) -> None:
    heard = run_jobs(worker, "q-paused::run")
    worker.queue.pause("paused")
    worker.queue.enqueue("paused", "q-paused::run", 1)
    assert worker.queue.stats("paused")["waiting"] == 1
    worker.queue.resume("paused")
    assert heard.get(timeout=20)[0] == 1


def test_many_jobs_are_stored_all_or_none(worker: svc.Worker) -> None:
    worker.queue.pause("many")
    jobs: list[svc.JobToEnqueue] = [{"queue": "many", "function_id": "q-many::run", "data": n} for n in range(100)]
    assert len({job["job_id"] for job in worker.queue.enqueue_many(jobs)}) == 100
    with pytest.raises(svc.CallError) as refused:
        worker.queue.enqueue_many([*jobs, {"queue": "no-such-queue", "function_id": "f"}])
    assert refused.value.code == "queue_not_found"
    assert worker.queue.stats("many")["waiting"] == 100


def test_jobs_of_one_group_keep_their_order_despite_failures(worker: svc.Worker) -> None:
    failures = iter([True] * 2)

    def twice(data: Any) -> None:
        if data["n"] == 0 and next(failures, False):
            fail(data)

    heard = run_jobs(worker, "q-fifo::run", twice)
    for n in range(3):
        worker.queue.enqueue("fifo", "q-fifo::run", {"account": "a", "n": n})
    assert [heard.get(timeout=20)[0]["n"] for _ in range(5)] == [0, 0, 0, 1, 2]


def test_jobs_without_a_function_are_for_the_triggers_of_their_queue(worker: svc.Worker) -> None:
    heard = run_jobs(worker, "q-served::run")
    config: svc.QueueTriggerConfig = {"queue": "served"}
    trigger = worker.register_trigger({"type": "queue", "function_id": "q-served::run", "config": config})
    assert trigger.wait_registered(timeout_s=20) == "active"
    job_id = worker.queue.enqueue("served", None, "x")["job_id"]
    data, job = heard.get(timeout=20)
    assert (data, job.queue, job.id) == ("x", "served", job_id)


def test_messages_wait_for_a_disconnected_subscriber(queue_engine: TestEngine, worker: svc.Worker) -> None:
    def subscribe() -> tuple[svc.Worker, Jobs]:
        subscriber = queue_engine.connect("subscriber", logger=svc.Logger(level="silent"))
        heard = run_jobs(subscriber, "q-topic::note")
        config: svc.DurableSubscriberTriggerConfig = {"topic": "q-topic", "queue_config": {"type": "fifo"}}
        trigger = {"type": "durable:subscriber", "function_id": "q-topic::note", "config": config}
        assert subscriber.register_trigger(trigger).wait_registered(timeout_s=20) == "active"
        return subscriber, heard

    subscriber, heard = subscribe()
    worker.queue.publish("q-topic", "first")
    assert heard.get(timeout=20)[0] == "first"
    subscriber.shutdown(timeout_s=5)
    for number in range(10):
        worker.queue.publish("q-topic", number)
    _, heard = subscribe()
    assert [heard.get(timeout=20)[0] for _ in range(10)] == list(range(10))


def test_event_loops_use_the_async_forms(worker: svc.Worker) -> None:
    heard = run_jobs(worker, "q-loops::run")

    async def use() -> None:
        jobs = worker.queue
        await jobs.pause_async("loops")
        job_id = (await jobs.enqueue_async("loops", "q-loops::run", 1))["job_id"]
        await jobs.enqueue_many_async([{"queue": "loops", "function_id": "q-loops::run", "data": 2}])
        assert [job["data"] async for job in jobs.jobs_async("loops")] == [1, 2]
        assert (await jobs.get_job_async(job_id))["state"] == "waiting"
        await jobs.cancel_async(job_id)
        assert (await jobs.stats_async("loops"))["waiting"] == 1
        await jobs.resume_async("loops")

    asyncio.run(use())
    assert heard.get(timeout=20)[0] == 2
