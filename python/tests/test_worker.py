from __future__ import annotations

import asyncio
import contextlib
import json
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, TypedDict

import pytest

import svc
from engine import Engine

Connect = Callable[..., svc.Worker]
TRACEPARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


class AddInput(TypedDict):
    a: int
    b: int


class AddOutput(TypedDict):
    c: int


@dataclass
class Point:
    x: int
    y: int = 0


def test_registers_with_its_features(engine: Engine, connect: Connect) -> None:
    connect("math-worker", description="Does sums")

    register = engine.peer().heard("invokefunction", function_id="engine::workers::register")

    data = register["data"]
    assert register["action"] == {"type": "void"}
    assert "invocation_id" not in register
    assert {
        "runtime": "python",
        "name": "math-worker",
        "description": "Does sums",
        "kind": "worker",
    }.items() <= data.items()
    assert data["version"] == svc.__version__
    assert {"cancel", "payload_last", "tolerates_bad_frames"} <= set(data["features"])
    assert data["telemetry"]["framework"] == "svc-python"


def test_sync_handlers_are_called_and_their_formats_come_from_hints(engine: Engine, connect: Connect) -> None:
    worker = connect()

    @worker.function("math::add", description="Adds two numbers")
    def add(input: AddInput) -> AddOutput:
        return {"c": input["a"] + input["b"]}

    assert worker.call({"function_id": "math::add", "payload": {"a": 2, "b": 3}}) == {"c": 5}
    frame = engine.peer().heard("registerfunction", id="math::add")
    assert frame["description"] == "Adds two numbers"
    assert frame["request_format"]["properties"] == {"a": {"type": "integer"}, "b": {"type": "integer"}}
    assert frame["response_format"]["required"] == ["c"]


def test_async_handlers_run_on_the_loop_and_call_with_call_async(connect: Connect) -> None:
    worker = connect()
    worker.register_function("math::one", lambda _: 1)

    @worker.function("math::two")
    async def two(input: object) -> int:
        one: int = await worker.call_async({"function_id": "math::one"})
        return one + one

    assert worker.call({"function_id": "math::two"}) == 2


def test_call_within_an_async_handler_names_call_async(connect: Connect) -> None:
    worker = connect()

    @worker.function("bad::call")
    async def bad(input: object) -> object:
        return worker.call({"function_id": "x::y"})

    with pytest.raises(svc.CallError, match=r"use await worker\.call_async") as failure:
        worker.call({"function_id": "bad::call"})
    assert failure.value.code == "invocation_failed"
    assert "RuntimeError" in (failure.value.stacktrace or "")


def test_a_blocked_sync_handler_does_not_block_the_socket(engine: Engine, connect: Connect) -> None:
    worker = connect(max_sync_handlers=2)
    release = threading.Event()
    worker.register_function("slow::wait", lambda _: release.wait(30))
    worker.register_function("fast::ok", lambda _: "ok")

    slow = engine.call("slow::wait")
    assert worker.call({"function_id": "fast::ok", "timeout_ms": 5000}) == "ok"
    engine.peer().send({"type": "ping"})
    engine.peer().heard("pong")

    release.set()
    assert engine.answer_to(slow)["result"] is True


def test_nested_calls_from_more_sync_handlers_than_threads_do_not_deadlock(connect: Connect) -> None:
    worker = connect(max_sync_handlers=2)
    worker.register_function("math::leaf", lambda n: n * 2)
    worker.register_function("math::inner", lambda n: worker.call({"function_id": "math::leaf", "payload": n}))
    worker.register_function("math::outer", lambda n: worker.call({"function_id": "math::inner", "payload": n}) + 1)

    async def all_at_once() -> list[int]:
        calls = (
            worker.call_async({"function_id": "math::outer", "payload": n, "timeout_ms": 20_000}) for n in range(60)
        )
        return list(await asyncio.gather(*calls))

    assert asyncio.run(all_at_once()) == [2 * n + 1 for n in range(60)]


def test_concurrent_sync_handlers_are_limited(connect: Connect) -> None:
    worker = connect(max_sync_handlers=3)
    gate = threading.Barrier(3)
    lock = threading.Lock()
    at_work: list[int] = []
    highest = 0

    @worker.function("busy::one")
    def busy(n: int) -> int:
        nonlocal highest
        with lock:
            at_work.append(n)
            highest = max(highest, len(at_work))
        gate.wait(10)
        with lock:
            at_work.remove(n)
        return n

    async def all_at_once() -> list[int]:
        return list(
            await asyncio.gather(*(worker.call_async({"function_id": "busy::one", "payload": n}) for n in range(12)))
        )

    assert asyncio.run(all_at_once()) == list(range(12))
    assert highest == 3


def test_a_dataclass_hint_gets_an_instance_and_a_mismatch_is_named(connect: Connect) -> None:
    worker = connect()

    @worker.function("geo::norm")
    def norm(point: Point) -> Point:
        return Point(abs(point.x), abs(point.y))

    assert worker.call({"function_id": "geo::norm", "payload": {"x": -3, "_caller_worker_id": "w"}}) == {"x": 3, "y": 0}
    with pytest.raises(svc.CallError) as misfit:
        worker.call({"function_id": "geo::norm", "payload": {"x": "three"}})
    assert misfit.value.code == "invalid_input"
    assert "`x` must be an integer, but is a string" in misfit.value.message
    with pytest.raises(svc.CallError, match="`x` is missing"):
        worker.call({"function_id": "geo::norm", "payload": {}})


def test_the_context_has_the_caller_and_propagates_the_trace(engine: Engine, connect: Connect) -> None:
    worker = connect()
    seen: dict[str, Any] = {}

    @worker.function("trace::inner")
    async def inner(input: object, context: svc.HandlerContext) -> None:
        seen["inner"] = (context.traceparent, context.baggage, context.caller)

    @worker.function("trace::outer")
    def outer(input: object, context: svc.HandlerContext) -> None:
        seen["outer"] = (context.function_id, context.invocation_id, context.metadata, context.job)
        worker.call({"function_id": "trace::inner"})
        with ThreadPoolExecutor(1) as own_thread:
            own_thread.submit(context.call, {"function_id": "trace::inner"}).result(10)

    call = engine.call(
        "trace::outer",
        traceparent=TRACEPARENT,
        baggage="tenant=t1",
        metadata={"m": 1},
        job={"queue": "q", "id": "j", "attempt": 2},
    )
    assert "error" not in engine.answer_to(call)

    assert seen["outer"] == ("trace::outer", call, {"m": 1}, svc.Job("q", "j", 2))
    assert seen["inner"] == (TRACEPARENT, "tenant=t1", svc.Caller(engine.peer().id, "probe"))
    calls = [frame for frame in engine.peer().frames if frame.get("function_id") == "trace::inner"]
    assert [frame["traceparent"] for frame in calls if frame["type"] == "invokefunction"] == [TRACEPARENT, TRACEPARENT]


def test_an_exception_of_a_handler_reaches_the_caller(connect: Connect) -> None:
    worker = connect()

    @worker.function("fail::own")
    def own(input: object) -> None:
        raise svc.CallError("out_of_stock", "none left", {"left": 0})

    @worker.function("fail::any")
    def any_error(input: object) -> None:
        raise KeyError()

    @worker.function("fail::exit")
    async def leave(input: object) -> None:
        raise SystemExit(3)

    with pytest.raises(svc.CallError) as own_error:
        worker.call({"function_id": "fail::own"})
    assert (own_error.value.code, own_error.value.message) == ("out_of_stock", "none left")
    assert own_error.value.details == {"left": 0}
    assert own_error.value.executed == "yes"
    with pytest.raises(svc.CallError) as any_raised:
        worker.call({"function_id": "fail::any"})
    assert (any_raised.value.code, any_raised.value.message) == ("invocation_failed", "KeyError")
    assert "in any_error" in (any_raised.value.stacktrace or "")
    with pytest.raises(svc.CallError) as left:
        worker.call({"function_id": "fail::exit"})
    assert (left.value.code, left.value.message) == ("invocation_failed", "SystemExit: 3")


def test_unexpected_exceptions_are_logged_with_their_stack_and_call_errors_are_not(
    connect: Connect, lines: list[str]
) -> None:
    worker = connect("probe")

    @worker.function("fail::own")
    def own(input: object) -> None:
        raise svc.CallError("out_of_stock", "none left")

    @worker.function("fail::sync")
    def sync(input: dict[str, object]) -> object:
        return input["a"]

    @worker.function("fail::async")
    async def later(input: dict[str, object]) -> object:
        return input["a"]

    @worker.function("fail::result")
    def result(input: object) -> object:
        return {"ratio": float("nan")}

    for function_id in ("fail::own", "fail::sync", "fail::async", "fail::result"):
        with pytest.raises(svc.CallError):
            worker.call({"function_id": function_id, "payload": {}})

    records = [record for record in map(json.loads, lines) if record["level"] in ("warn", "error")]
    shown = [(record["level"], record["message"], record["function_id"], record["error"]["type"]) for record in records]
    assert shown == [
        ("error", "a handler failed", "fail::sync", "KeyError"),
        ("error", "a handler failed", "fail::async", "KeyError"),
        ("error", "failed to encode a handler's result as JSON", "fail::result", "CallError"),
    ]
    assert all(record["worker"] == "probe" and record["invocation_id"] for record in records)
    assert "in sync" in records[0]["error"]["stack"]
    assert records[2]["error"]["code"] == "serialization_error"


def test_a_missing_function_is_reported_with_its_id(connect: Connect) -> None:
    worker = connect()
    with pytest.raises(svc.CallError, match="Function no::such not found") as missing:
        worker.call({"function_id": "no::such"})
    assert missing.value.code == "function_not_found"
    assert missing.value.retryable
    assert missing.value.executed == "no"


def test_results_that_are_not_json_fail_with_serialization_error(connect: Connect) -> None:
    worker = connect()
    deep: list[object] = []
    for _ in range(100_000):
        deep = [deep]
    results: dict[str, object] = {"nan": float("nan"), "set": {1}, "deep": deep, "bytes": b"x"}
    worker.register_function("odd::result", lambda kind: results[kind])
    for kind in results:
        with pytest.raises(svc.CallError) as failure:
            worker.call({"function_id": "odd::result", "payload": kind})
        assert failure.value.code == "serialization_error", kind
    # Freed step by step, because the interpreter's own deallocation would recurse too deeply.
    while deep:
        deep = deep.pop()  # type: ignore[assignment]


def test_invalid_payloads_are_rejected_before_sending(connect: Connect) -> None:
    worker = connect()
    for payload in (float("inf"), {1, 2}, {"when": object()}):
        with pytest.raises(svc.CallError) as refused:
            worker.call({"function_id": "x::y", "payload": payload})
        assert refused.value.code == "invalid_input"
        assert refused.value.executed == "no"
    with pytest.raises(svc.CallError) as too_large:
        worker.call({"function_id": "x::y", "payload": "ä" * 9_000_000})
    assert too_large.value.code == "payload_too_large"
    with pytest.raises(svc.CallError, match="no member input; it may have function_id, payload"):
        worker.call({"function_id": "x::y", "input": 1})
    with pytest.raises(svc.CallError, match="function_id is empty"):
        worker.call({"function_id": " "})
    with pytest.raises(svc.CallError, match="1 to 86400000"):
        worker.call({"function_id": "x::y", "timeout_ms": 0})


def test_a_result_that_is_too_large_fails_the_call_and_keeps_the_connection(engine: Engine, connect: Connect) -> None:
    worker = connect()
    worker.register_function("big::result", lambda _: "x" * 17_000_000)
    with pytest.raises(svc.CallError) as too_large:
        worker.call({"function_id": "big::result"})
    assert (too_large.value.code, too_large.value.executed) == ("payload_too_large", "yes")
    assert len(engine.peers) == 1


def test_an_error_says_whether_its_own_handler_ran(engine: Engine, connect: Connect) -> None:
    worker = connect()

    def passes_on(_: object) -> object:
        return worker.call({"function_id": "no::such"})

    async def passes_on_async(_: object) -> object:
        return await worker.call_async({"function_id": "no::such"})

    def refuses(_: object) -> None:
        raise svc.CallError("queue_full", "try later", {"executed": "no"})

    def counts(point: Point) -> int:
        return point.x

    handlers = {"f::sync": passes_on, "f::async": passes_on_async, "f::refuses": refuses, "f::counts": counts}
    for function_id, handler in handlers.items():
        worker.register_function(function_id, handler)
    said = {}
    for function_id in handlers:
        with pytest.raises(svc.CallError) as failed:
            worker.call({"function_id": function_id, "payload": "text"})
        said[function_id] = (failed.value.code, failed.value.executed)
    assert said == {
        "f::sync": ("function_not_found", "yes"),
        "f::async": ("function_not_found", "yes"),
        "f::refuses": ("queue_full", "no"),
        "f::counts": ("invalid_input", "no"),
    }


def test_large_payloads_unicode_and_lone_surrogates_round_trip(connect: Connect) -> None:
    worker = connect()
    worker.register_function("echo::it", lambda value: value)
    for payload in ("x" * 5_000_000, "grüße 😀", "half \ud83d pair", {"\u2028": [1, 2.5, None, True]}):
        assert worker.call({"function_id": "echo::it", "payload": payload}) == payload


def test_a_call_without_a_result_times_out_and_is_cancelled(engine: Engine, connect: Connect) -> None:
    worker = connect()
    engine.routes = False
    with pytest.raises(svc.CallError, match="Function slow::one did not answer within 50 ms") as late:
        worker.call({"function_id": "slow::one", "timeout_ms": 50})
    assert late.value.code == "call_timeout"
    call = engine.peer().heard("invokefunction", function_id="slow::one")
    assert call["timeout_ms"] == 50
    engine.peer().heard("cancelinvocation", invocation_id=call["invocation_id"], reason="timeout")


def test_cancelling_the_awaiting_task_cancels_the_call(engine: Engine, connect: Connect) -> None:
    worker = connect()
    engine.routes = False

    async def give_up() -> None:
        task = asyncio.ensure_future(worker.call_async({"function_id": "slow::one"}))
        await asyncio.to_thread(engine.peer().heard, "invokefunction", function_id="slow::one")
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task

    asyncio.run(give_up())
    call = engine.peer().heard("invokefunction", function_id="slow::one")
    engine.peer().heard("cancelinvocation", invocation_id=call["invocation_id"], reason="cancelled")


def test_cancelinvocation_cancels_async_handlers_and_is_seen_by_sync_ones(engine: Engine, connect: Connect) -> None:
    worker = connect()
    begun, ended = threading.Semaphore(0), threading.Semaphore(0)
    outcomes: list[str] = []

    @worker.function("long::async")
    async def long_async(input: object) -> None:
        begun.release()
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            outcomes.append("cancelled")
            ended.release()
            raise

    @worker.function("long::sync")
    def long_sync(input: object, context: svc.HandlerContext) -> None:
        begun.release()
        outcomes.append("noticed" if context.cancelled.wait(30) else "waited")
        ended.release()

    for function_id in ("long::async", "long::sync"):
        call = engine.call(function_id)
        assert begun.acquire(timeout=10)
        engine.peer().send({"type": "cancelinvocation", "invocation_id": call, "reason": "timeout"})
        assert ended.acquire(timeout=10)
    assert outcomes == ["cancelled", "noticed"]
    worker.register_function("still::there", lambda _: 1)
    assert worker.call({"function_id": "still::there"}) == 1
    assert not [f for f in engine.peer().frames if f["type"] == "invocationresult" and "long" in f["function_id"]]


def test_void_calls_and_enqueue_are_written_as_such(engine: Engine, connect: Connect) -> None:
    worker = connect()
    engine.routes = False
    worker.call_void({"function_id": "audit::note", "payload": 1})
    void = engine.peer().heard("invokefunction", function_id="audit::note")
    assert void["action"] == {"type": "void"}
    assert "invocation_id" not in void

    with ThreadPoolExecutor(1) as thread:
        receipt = thread.submit(worker.enqueue, {"queue": "mails", "function_id": "mail::send", "payload": {"to": "x"}})
        frame = engine.peer().heard("invokefunction", function_id="mail::send")
        assert frame["action"] == {"type": "enqueue", "queue": "mails"}
        answer = {"type": "invocationresult", "invocation_id": frame["invocation_id"], "function_id": "mail::send"}
        engine.peer().send({**answer, "result": {"messageReceiptId": "r1"}})
        assert receipt.result(10) == {"messageReceiptId": "r1"}
    with pytest.raises(svc.CallError, match="queue must be a string"):
        worker.enqueue({"function_id": "mail::send"})


def test_triggers_report_their_status(engine: Engine, connect: Connect) -> None:
    worker = connect()
    trigger = worker.register_trigger({"type": "http", "function_id": "math::add", "config": {"api_path": "/add"}})
    assert trigger.wait_registered(10) == "active"
    assert trigger.status == "active"
    frame = engine.peer().heard("registertrigger", id=trigger.id)
    assert frame["config"] == {"api_path": "/add"}

    engine.routes = False
    refused = worker.register_trigger({"type": "http", "function_id": "math::sub", "config": None})
    engine.peer().heard("registertrigger", id=refused.id)
    names = {"id": refused.id, "trigger_type": "http", "function_id": "math::sub"}
    error = {"code": "trigger_registration_failed", "message": "api_path is missing"}
    engine.peer().send({"type": "triggerregistrationresult", **names, "error": error, "status": "error"})
    with pytest.raises(svc.CallError, match="api_path is missing"):
        refused.wait_registered(10)

    silent = worker.register_trigger({"type": "cron", "function_id": "math::sub"})
    with pytest.raises(svc.CallError) as nothing_heard:
        silent.wait_registered(0.01)
    assert nothing_heard.value.code == "call_timeout"
    trigger.unregister()
    trigger.unregister()
    engine.peer().heard("unregistertrigger", id=trigger.id, trigger_type="http")
    with pytest.raises(TypeError, match="lacks function_id"):
        worker.register_trigger({"type": "http"})


def test_a_provider_binds_and_unbinds_in_order(engine: Engine, connect: Connect) -> None:
    worker = connect()
    events: list[tuple[str, str]] = []
    happened = threading.Semaphore(0)

    class Webhook:
        async def register_trigger(self, binding: svc.TriggerBinding) -> None:
            if "path" not in binding.config:
                raise ValueError("path is missing")
            events.append(("bind", binding.config["path"]))
            happened.release()

        def unregister_trigger(self, binding: svc.TriggerBinding) -> None:
            events.append(("unbind", binding.config["path"]))
            happened.release()

    worker.register_trigger_type({"id": "webhook", "description": "Calls from outside"}, Webhook())
    peer = engine.peer()
    peer.heard("registertriggertype", id="webhook")
    bind = {"type": "registertrigger", "trigger_type": "webhook", "function_id": "shop::paid"}
    peer.send({**bind, "id": "t1", "config": {"path": "/p"}})
    assert "error" not in peer.heard("triggerregistrationresult", id="t1")
    peer.send({**bind, "id": "t2", "config": {}})
    error = peer.heard("triggerregistrationresult", id="t2")["error"]
    assert (error["code"], error["message"]) == ("trigger_registration_failed", "ValueError: path is missing")
    peer.send({"type": "unregistertrigger", "id": "t1", "trigger_type": "webhook"})
    assert all(happened.acquire(timeout=10) for _ in range(2))
    assert events == [("bind", "/p"), ("unbind", "/p")]
    with pytest.raises(TypeError, match="no method register_trigger"):
        worker.register_trigger_type({"id": "other", "description": "x"}, object())  # type: ignore[arg-type]


def test_frames_that_are_not_json_leave_the_worker_up(engine: Engine, connect: Connect, lines: list[str]) -> None:
    worker = connect()
    worker.register_function("echo::it", lambda value: value)
    worker.call({"function_id": "echo::it"})
    peer = engine.peer()
    id = "11111111-1111-4111-8111-111111111111"
    tail = f'"type":"invokefunction","invocation_id":"{id}","function_id":"echo::it","metadata":null}}'
    for frame in ("", "nope", "[1]", "7", '{"type":7}', "[" * 200_000, '{"data":{,},' + tail, b"\xff\xfe", "1" * 5000):
        peer.send(frame)
    assert peer.heard("invocationresult", invocation_id=id)["error"]["code"] == "invalid_message"
    assert worker.call({"function_id": "echo::it", "payload": 1}) == 1
    assert len(engine.peers) == 1
    assert any("sent an invalid frame" in line for line in lines)


def test_json_in_binary_frames_is_understood(engine: Engine, connect: Connect) -> None:
    worker = connect()
    worker.register_function("echo::it", lambda value: value)
    worker.call({"function_id": "echo::it"})
    id = "11111111-1111-4111-8111-111111111111"
    frame = {"data": 5, "type": "invokefunction", "invocation_id": id, "function_id": "echo::it"}
    engine.peer().send(json.dumps(frame).encode())
    assert engine.answer_to(id)["result"] == 5


def test_ids_are_validated_and_unique(engine: Engine, connect: Connect) -> None:
    worker = connect()
    first = worker.register_function("math::add", lambda _: 1)
    with pytest.raises(ValueError, match="already registered by this worker"):
        worker.register_function("math::add", lambda _: 2)
    for bad in ("", "a\nb", "x" * 257, "ä" * 129):
        with pytest.raises(ValueError, match="function id"):
            worker.register_function(bad, lambda _: 1)
    with pytest.raises(TypeError, match="must be callable"):
        worker.register_function("math::none", None)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="requires third besides input and context"):
        worker.register_function("math::three", lambda first, second, third: None)
    assert worker.call({"function_id": "math::add"}) == 1
    first.unregister()
    engine.peer().heard("unregisterfunction", id="math::add")
    worker.register_function("math::add", lambda _: 2)
    first.unregister()
    assert worker.call({"function_id": "math::add"}) == 2


def test_a_failing_listener_has_no_effect(engine: Engine, connect: Connect, lines: list[str]) -> None:
    worker = connect()
    states: list[str] = []
    changed = threading.Condition()

    def broken(state: str) -> None:
        raise RuntimeError("listener broke")

    def note(state: str) -> None:
        with changed:
            states.append(state)
            changed.notify_all()

    worker.on_connection_state(broken)
    unsubscribe = worker.on_connection_state(note)
    engine.peer().cut()
    with changed:
        assert changed.wait_for(lambda: states == ["reconnecting", "connected"], 10), states
    unsubscribe()
    worker.register_function("echo::it", lambda value: value)
    assert worker.call({"function_id": "echo::it", "payload": 1}) == 1
    assert any("listener broke" in line for line in lines)
    worker.shutdown()
    assert worker.connection_state == "closed"
    assert states == ["reconnecting", "connected"]
