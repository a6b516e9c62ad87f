from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

import svc
from engine import Engine, Peer

Connect = Callable[..., svc.Worker]


@pytest.mark.parametrize("code", [1000, 1001, 1012, 4000])
def test_reconnects_and_replays_after_every_close(engine: Engine, connect: Connect, code: int) -> None:
    worker = connect()
    worker.register_function("echo::it", lambda value: value)
    trigger = worker.register_trigger({"type": "http", "function_id": "echo::it", "config": {"api_path": "/e"}})
    trigger.wait_registered(10)

    first = engine.peer()
    first.close(code)

    second = engine.peer(1)
    second.heard("registertrigger", id=trigger.id)
    types = [frame["type"] for frame in second.frames[:4]]
    assert types == ["reattach", "invokefunction", "registerfunction", "registertrigger"]
    assert second.frames[0] == {"type": "reattach", "previous_worker_id": first.id, "reattach_token": first.token}
    assert worker.call({"function_id": "echo::it", "payload": 1}) == 1
    assert worker.id == second.id


def test_goes_to_the_next_of_several_engines_at_once(engine: Engine, lines: list[str]) -> None:
    other = Engine()
    # The wait before an attempt at the same engine is longer than the test.
    reconnect = svc.ReconnectOptions(initial_delay_ms=600_000, max_delay_ms=600_000)
    worker = svc.connect(
        f"{engine.address},{other.address}", reconnect=reconnect, logger=svc.Logger(write=lines.append)
    )
    try:
        worker.register_function("echo::it", lambda value: value)
        engine.peer().heard("registerfunction", id="echo::it")
        engine.go_away()
        other.peer().heard("registerfunction", id="echo::it")
        assert worker.call({"function_id": "echo::it", "payload": 1}) == 1
    finally:
        worker.shutdown()
        other.stop()
        engine.come_back()


def test_leaves_a_drained_engine_for_the_next_when_nothing_is_in_flight(engine: Engine, lines: list[str]) -> None:
    other = Engine()
    worker = svc.connect(f"{engine.address},{other.address}", logger=svc.Logger(write=lines.append))
    started, finish = threading.Event(), threading.Event()

    def slow(_: object) -> None:
        started.set()
        finish.wait(10)

    try:
        worker.register_function("slow::it", slow)
        first = engine.peer()
        first.heard("registerfunction", id="slow::it")
        running = engine.call("slow::it")
        assert started.wait(10)
        engine.routes = other.routes = False
        with ThreadPoolExecutor(3) as threads:
            # A handler runs, which may need calls of its own.
            first.send({"type": "draining"})
            inner = threads.submit(worker.call, {"function_id": "inner"})
            _answer(first, "inner", 1)
            assert inner.result(10) == 1
            finish.set()
            engine.answer_to(running)

            before = threads.submit(worker.call, {"function_id": "before"})
            first.heard("invokefunction", function_id="before")
            first.send({"type": "draining"})
            first.send({"type": "ping"})
            first.heard("pong")
            during = threads.submit(worker.call, {"function_id": "during"})
            _answer(first, "before", 2)
            assert before.result(10) == 2
            _answer(other.peer(), "during", 3)
            assert during.result(10) == 3
        assert not any(frame.get("function_id") == "during" for frame in first.frames)
    finally:
        worker.shutdown(timeout_s=0.1)
        other.stop()


def test_leaves_an_engine_that_is_cut_off_with_calls_in_flight_but_not_twice(engine: Engine, lines: list[str]) -> None:
    other = Engine()
    worker = svc.connect(f"{engine.address},{other.address}", logger=svc.Logger(write=lines.append))
    engine.routes = other.routes = False
    try:
        first = engine.peer()
        with ThreadPoolExecutor(2) as threads:
            long = threads.submit(worker.call, {"function_id": "long"})
            first.heard("invokefunction", function_id="long")
            first.send({"type": "draining", "within_ms": 0})
            with pytest.raises(svc.CallError) as lost:
                long.result(10)
            assert lost.value.code == "disconnected"
            second = other.peer()
            second.heard("invokefunction", function_id="engine::workers::register")
            second.send({"type": "draining", "within_ms": 0})
            second.send({"type": "ping"})
            second.heard("pong")
            again = threads.submit(worker.call, {"function_id": "again"})
            _answer(second, "again", 1)
            assert again.result(10) == 1
    finally:
        worker.shutdown(timeout_s=0.1)
        other.stop()


@pytest.mark.parametrize("within", [{}, {"within_ms": 60_000}])
def test_sends_new_calls_to_an_engine_that_is_left_if_others_take_long(
    engine: Engine, lines: list[str], within: dict[str, int]
) -> None:
    other = Engine()
    worker = svc.connect(f"{engine.address},{other.address}", logger=svc.Logger(write=lines.append))
    engine.routes = False
    try:
        first = engine.peer()
        with ThreadPoolExecutor(2) as threads:
            long = threads.submit(worker.call, {"function_id": "long"})
            first.heard("invokefunction", function_id="long")
            first.send({"type": "draining", **within})
            first.send({"type": "ping"})
            first.heard("pong")
            short = threads.submit(worker.call, {"function_id": "short"})
            _answer(first, "short", 1)
            assert short.result(10) == 1
            _answer(first, "long", 2)
            assert long.result(10) == 2
        assert other.peers == []
    finally:
        worker.shutdown(timeout_s=0.1)
        other.stop()


def test_a_call_waits_for_others_at_most_for_half_of_its_time(
    engine: Engine, lines: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("svc.engine_link._FIRST_HOLD_S", 60.0)
    other = Engine()
    worker = svc.connect(f"{engine.address},{other.address}", logger=svc.Logger(write=lines.append))
    engine.routes = other.routes = False
    try:
        first = engine.peer()
        with ThreadPoolExecutor(2) as threads:
            long = threads.submit(worker.call, {"function_id": "long"})
            first.heard("invokefunction", function_id="long")
            _ask_to_leave(engine, first, 1)
            short = threads.submit(worker.call, {"function_id": "short", "timeout_ms": 3_000})
            _answer(first, "short", 1)
            assert short.result(10) == 1
            _answer(first, "long", 2)
            assert long.result(10) == 2
        assert other.peers == []
    finally:
        worker.shutdown(timeout_s=0.1)
        other.stop()


def test_leaves_a_drained_engine_though_calls_overlap(
    engine: Engine, lines: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("svc.engine_link._FIRST_HOLD_S", 0.001)
    clock = _StoppedClock()
    monkeypatch.setattr("svc.engine_link.time", clock)
    other = Engine()
    worker = svc.connect(f"{engine.address},{other.address}", logger=svc.Logger(write=lines.append))
    engine.routes = other.routes = False
    try:
        first = engine.peer()
        with ThreadPoolExecutor(3) as threads:
            long = threads.submit(worker.call, {"function_id": "long", "timeout_ms": 600_000})
            first.heard("invokefunction", function_id="long")
            # Each time, new calls wait twice as long for those in flight.
            for n in range(10):
                _ask_to_leave(engine, first, n + 1)
                call = threads.submit(worker.call, {"function_id": f"short{n}"})
                _answer(first, f"short{n}", 1)
                assert call.result(10) == 1
                clock.now_s += 2
            _ask_to_leave(engine, first, 11)
            during = threads.submit(worker.call, {"function_id": "during"})
            # Takes longer than the first wait.
            for n in range(11, 61):
                _ask_to_leave(engine, first, n + 1)
            _answer(first, "long", 2)
            assert long.result(10) == 2
            _answer(other.peer(), "during", 3)
            assert during.result(10) == 3
    finally:
        worker.shutdown(timeout_s=0.1)
        other.stop()


def test_holds_no_calls_back_at_once_after_they_waited_in_vain(
    engine: Engine, lines: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = _StoppedClock()
    monkeypatch.setattr("svc.engine_link.time", clock)
    other = Engine()
    worker = svc.connect(f"{engine.address},{other.address}", logger=svc.Logger(write=lines.append))
    engine.routes = other.routes = False
    first = engine.peer()

    async def scenario() -> None:
        long = asyncio.ensure_future(worker.call_async({"function_id": "long"}))
        await asyncio.sleep(0)
        first.heard("invokefunction", function_id="long")
        _ask_to_leave(engine, first, 1)
        held = asyncio.ensure_future(worker.call_async({"function_id": "held"}))
        await asyncio.sleep(0)
        _answer(first, "held", 1)
        assert await held == 1
        clock.now_s += 0.25
        _ask_to_leave(engine, first, 2)
        soon = asyncio.ensure_future(worker.call_async({"function_id": "soon"}))
        await asyncio.sleep(0)
        # If `soon` were held back, it would go to the other engine now.
        _answer(first, "long", 2)
        assert await long == 2
        _answer(first, "soon", 3)
        assert await soon == 3
        assert other.peers == []
        clock.now_s += 0.25
        first.send({"type": "draining"})
        other.peer()

    try:
        asyncio.run(scenario())
    finally:
        worker.shutdown(timeout_s=0.1)
        other.stop()


class _StoppedClock:
    """In the place of ``time``."""

    now_s = 1_000.0

    def monotonic(self) -> float:
        return self.now_s


def test_a_worker_that_shuts_down_stays_at_a_drained_engine_and_sends_its_calls(
    engine: Engine, lines: list[str]
) -> None:
    other = Engine()
    worker = svc.connect(f"{engine.address},{other.address}", logger=svc.Logger(write=lines.append))
    worker.register_function("f", lambda _: None)
    engine.routes = False
    first = engine.peer()

    async def scenario() -> None:
        before = asyncio.ensure_future(worker.call_async({"function_id": "before"}))
        await asyncio.sleep(0)
        first.heard("invokefunction", function_id="before")
        _ask_to_leave(engine, first, 1)
        during = asyncio.ensure_future(worker.call_async({"function_id": "during"}))
        await asyncio.sleep(0)
        down = asyncio.ensure_future(worker.shutdown_async())
        await asyncio.sleep(0)
        first.heard("unregisterfunction")
        _answer(first, "before", 1)
        assert await before == 1
        _answer(first, "during", 2)
        assert await during == 2
        await down

    try:
        asyncio.run(scenario())
        assert other.peers == []
    finally:
        worker.shutdown(timeout_s=0.1)
        other.stop()


def _ask_to_leave(engine: Engine, peer: Peer, count: int) -> None:
    """Sends ``draining`` for the ``count``-th time, and waits until the worker has read it."""
    peer.send({"type": "draining"})
    peer.send({"type": "ping"})
    engine.until(lambda: sum(frame["type"] == "pong" for frame in peer.frames) >= count, f"{count} pongs")


def _answer(peer: Peer, function_id: str, result: object) -> None:
    call = peer.heard("invokefunction", function_id=function_id)
    frame = {"type": "invocationresult", "invocation_id": call["invocation_id"], "function_id": function_id}
    peer.send({**frame, "result": result})


def test_calls_wait_for_the_engine_and_sent_ones_fail_on_disconnect(engine: Engine, connect: Connect) -> None:
    worker = connect()
    worker.register_function("echo::it", lambda value: value)
    engine.routes = False
    with ThreadPoolExecutor(2) as threads:
        sent = threads.submit(worker.call, {"function_id": "slow::one"})
        engine.peer().heard("invokefunction", function_id="slow::one")
        engine.go_away()
        with pytest.raises(svc.CallError) as lost:
            sent.result(10)
        assert lost.value.code == "disconnected"
        assert lost.value.executed == "unknown"

        engine.routes = True
        waiting = threads.submit(worker.call, {"function_id": "echo::it", "payload": "later"})
        engine.come_back()
        assert waiting.result(10) == "later"


def test_a_result_finished_while_offline_is_dropped_with_a_warning(
    engine: Engine, connect: Connect, lines: list[str]
) -> None:
    worker = connect()
    begun, release = threading.Event(), threading.Event()

    @worker.function("slow::one")
    def slow(input: object, context: svc.HandlerContext) -> str:
        begun.set()
        assert context.cancelled.wait(10)
        release.wait(10)
        return "too late"

    call = engine.call("slow::one")
    assert begun.wait(10)
    engine.peer().cut()
    engine.peer(1).heard("registerfunction", id="slow::one")
    release.set()
    worker.register_function("echo::it", lambda value: value)
    assert worker.call({"function_id": "echo::it", "payload": 1}) == 1
    # The shutdown waits for the handler, so its result would have been sent by then.
    worker.shutdown()
    assert not [frame for frame in engine.peer(1).frames if frame.get("invocation_id") == call]
    assert any("the call is no longer pending" in line and '"warn"' in line for line in lines)


def test_wait_connected_reports_an_unreachable_engine(lines: list[str]) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    reconnect = svc.ReconnectOptions(initial_delay_ms=10, max_delay_ms=20, max_attempts=2)
    address = f"ws://svc:secret@127.0.0.1:{port}"
    worker = svc.connect(address, name="probe", reconnect=reconnect, logger=svc.Logger(write=lines.append))
    try:
        with pytest.raises(
            svc.CallError, match=f"gave up connecting to the engine at ws://127.0.0.1:{port}: nothing listens"
        ):
            worker.wait_connected(10)
        assert worker.connection_state == "failed"
        with pytest.raises(svc.CallError) as refused:
            worker.call({"function_id": "x::y"})
        assert refused.value.code == "disconnected"
    finally:
        worker.shutdown()
    assert not any("secret" in line for line in lines)
    assert any("is the engine running?" in line for line in lines)


def test_rejected_credentials_are_reported_and_retried(engine: Engine, lines: list[str]) -> None:
    engine.refuse_with = 401
    reconnect = svc.ReconnectOptions(initial_delay_ms=10, max_delay_ms=20)
    worker = svc.connect(engine.address, reconnect=reconnect, logger=svc.Logger(write=lines.append))
    try:
        engine.until(lambda: len(engine.requests) >= 2, "a second attempt")
        engine.refuse_with = None
        worker.wait_connected(10)
    finally:
        worker.shutdown()
    assert any("HTTP 401; check the token (SVC_TOKEN)" in line for line in lines)


def test_the_token_of_the_environment_is_sent_unless_the_address_has_one(
    engine: Engine, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SVC_TOKEN", "t0k")
    connect()
    connect(headers={"Authorization": "Bearer own", "X-Team": "a"})
    with_credentials = svc.connect(engine.address.replace("ws://", "ws://svc:pw@"))
    with_credentials.wait_connected(10)
    with_credentials.shutdown()
    sent = [request.headers.get("Authorization") for request in engine.requests]
    assert sent == ["Bearer t0k", "Bearer own", "Basic c3ZjOnB3"]
    assert engine.requests[1].headers["X-Team"] == "a"
    assert "Sec-WebSocket-Extensions" not in engine.requests[0].headers


def test_shutdown_finishes_running_calls_and_rejects_new_ones(engine: Engine, connect: Connect) -> None:
    worker = connect()
    begun, release = threading.Event(), threading.Event()

    @worker.function("slow::one")
    def slow(input: object) -> Any:
        begun.set()
        release.wait(30)
        return worker.call({"function_id": "echo::late", "payload": "finished"})

    other = connect("other")
    other.register_function("echo::late", lambda value: value)
    other.call({"function_id": "echo::late"})
    call = engine.call("slow::one")
    assert begun.wait(10)
    with ThreadPoolExecutor(1) as thread:
        done = thread.submit(worker.shutdown)
        engine.peer().heard("ping")
        late = "22222222-2222-4222-8222-222222222222"
        frame = {"data": None, "type": "invokefunction", "invocation_id": late, "function_id": "slow::one"}
        engine.peer().send(frame)
        assert engine.answer_to(late)["error"]["code"] == "draining"
        with pytest.raises(svc.CallError) as refused:
            worker.call({"function_id": "echo::late"})
        assert refused.value.code == "draining"
        release.set()
        done.result(20)
    assert engine.answer_to(call)["result"] == "finished"
    assert worker.connection_state == "closed"
    worker.shutdown()
    with pytest.raises(svc.CallError, match="shut down"):
        worker.call({"function_id": "x::y"})
    with pytest.raises(svc.CallError, match="nothing can be registered"):
        worker.register_function("x::y", lambda _: 1)


def test_shutdown_runs_calls_that_the_engine_sent_before_the_unregistration(engine: Engine, connect: Connect) -> None:
    worker = connect()
    worker.register_function("math::double", lambda number: 2 * number)
    engine.peer().heard("registerfunction")
    late = "22222222-2222-4222-8222-222222222222"
    frame = {"type": "invokefunction", "invocation_id": late, "function_id": "math::double", "data": 4}
    engine.before_pong = [frame]
    worker.shutdown()
    assert engine.answer_to(late)["result"] == 8


def test_shutdown_respects_its_timeout(engine: Engine, connect: Connect, lines: list[str]) -> None:
    worker = connect()
    begun, release = threading.Event(), threading.Event()

    @worker.function("stuck::one")
    def stuck(input: object) -> None:
        begun.set()
        release.wait(30)

    engine.call("stuck::one")
    assert begun.wait(10)
    worker.shutdown(timeout_s=0.05)
    release.set()
    assert worker.connection_state == "closed"
    assert any("unfinished work" in line for line in lines)


def test_shutdown_within_a_handler_raises(connect: Connect) -> None:
    worker = connect()
    worker.register_function("stop::sync", lambda _: worker.shutdown())

    @worker.function("stop::async")
    async def stop(input: object) -> None:
        worker.shutdown()

    for function_id in ("stop::sync", "stop::async"):
        with pytest.raises(svc.CallError, match="cannot be called inside one"):
            worker.call({"function_id": function_id})
