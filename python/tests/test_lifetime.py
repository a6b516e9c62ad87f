"""Context managers and the async forms of waiting and shutting down."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable

import pytest

import svc
from engine import Engine

Connect = Callable[..., svc.Worker]


def quiet(engine: Engine) -> svc.Worker:
    return svc.connect(engine.address, name="probe", logger=svc.Logger(write=lambda _: None))


def test_a_worker_is_shut_down_after_its_block_also_when_that_raises(engine: Engine) -> None:
    with quiet(engine) as worker:
        worker.wait_connected(10)
    assert worker.connection_state == "closed"
    with pytest.raises(KeyError, match="mine"), quiet(engine) as failed:
        raise KeyError("mine")
    assert failed.connection_state == "closed"


def test_an_async_block_connects_registers_calls_and_shuts_down(engine: Engine) -> None:
    async def main() -> svc.Worker:
        async with quiet(engine) as worker:
            await worker.wait_connected_async(10)
            worker.register_function("async::double", lambda n: n * 2)
            trigger = worker.register_trigger({"type": "http", "function_id": "async::double", "config": {}})
            frame = await asyncio.to_thread(lambda: engine.peer().heard("registertrigger"))
            result = {"type": "triggerregistrationresult", "trigger_type": "http", "function_id": "async::double"}
            await asyncio.to_thread(
                lambda: engine.peer().send({**result, "id": frame["id"], "status": "active", "error": None})
            )
            assert await trigger.wait_registered_async(10) == "active"
            assert await worker.call_async({"function_id": "async::double", "payload": 4}) == 8
            return worker

    assert asyncio.run(main()).connection_state == "closed"


def test_async_handlers_wait_without_blocking_the_loop(engine: Engine, connect: Connect) -> None:
    worker = connect()

    @worker.function("wait::connected")
    async def wait(input: object) -> str:
        await worker.wait_connected_async()
        return worker.connection_state

    @worker.function("wait::blocking")
    async def block(input: object) -> None:
        worker.wait_connected()

    assert worker.call({"function_id": "wait::connected"}) == "connected"
    with pytest.raises(svc.CallError, match=r"await worker\.wait_connected_async\(\)"):
        worker.call({"function_id": "wait::blocking"})


def test_those_who_wait_are_told_when_the_worker_is_shut_down(engine: Engine) -> None:
    worker = svc.connect("ws://127.0.0.1:1", logger=svc.Logger(write=lambda _: None))
    trigger = worker.register_trigger({"type": "http", "function_id": "f", "config": {}})
    began = threading.Barrier(3)

    async def waiting(wait: Callable[[], object]) -> svc.CallError:
        began.wait(10)
        with pytest.raises(svc.CallError) as ended:
            await wait()  # type: ignore[misc]
        return ended.value

    results: list[svc.CallError] = []

    def run(wait: Callable[[], object]) -> None:
        results.append(asyncio.run(waiting(wait)))

    waits: tuple[Callable[[], object], ...] = (
        lambda: worker.wait_connected_async(30),
        lambda: trigger.wait_registered_async(30),
    )
    threads = [threading.Thread(target=run, args=(wait,)) for wait in waits]
    for thread in threads:
        thread.start()
    began.wait(10)
    worker.shutdown(timeout_s=1)
    for thread in threads:
        thread.join(10)
    assert {error.code for error in results} <= {"disconnected", "draining"}
    assert len(results) == 2
    with pytest.raises(svc.CallError, match="the worker was shut down"):
        worker.wait_connected(10)


def test_shutdown_async_waits_for_handlers_and_is_refused_inside_one(connect: Connect, engine: Engine) -> None:
    worker = connect()
    begun, release = threading.Event(), threading.Event()

    @worker.function("slow::one")
    def slow(input: object) -> str:
        begun.set()
        release.wait(10)
        return "finished"

    @worker.function("stop::async")
    async def stop(input: object) -> None:
        await worker.shutdown_async()

    with pytest.raises(svc.CallError, match=r"shutdown_async\(\) waits for running handlers"):
        worker.call({"function_id": "stop::async"})
    call = engine.call("slow::one")
    assert begun.wait(10)

    async def main() -> None:
        ending = asyncio.ensure_future(worker.shutdown_async(10))
        await asyncio.to_thread(lambda: engine.peer().heard("unregisterfunction", id="slow::one"))
        release.set()
        await ending

    asyncio.run(main())
    assert engine.answer_to(call)["result"] == "finished"
    assert worker.connection_state == "closed"
