from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

import svc
from engine import Engine, plain
from svc.telemetry.worker_telemetry import MAX_UNSAMPLED_PER_SECOND

Connect = Callable[..., svc.Worker]
TRACE_ID, PARENT = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
TRACE = f"00-{TRACE_ID}-{PARENT}-01"
UNSAMPLED = f"00-{TRACE_ID}-{PARENT}-00"


@pytest.fixture(autouse=True)
def _is_of_svc(engine: Engine) -> None:
    engine.greeting = {"engine": {"version": "0.1.0", "instance_id": "i"}}


def log_of(engine: Engine, message: str) -> dict[str, Any]:
    return engine.peer().told("LOGS", lambda record: record["body"]["stringValue"] == message, f"the line {message}")


def span_of(engine: Engine, name: str) -> dict[str, Any]:
    return engine.peer().told("OTLP", lambda span: span["name"] == name, f"the span {name}")


def line_of(lines: list[str], message: str) -> dict[str, Any]:
    return next(line for line in map(json.loads, lines) if line["message"] == message)


def handled(engine: Engine, function_id: str = "f", **members: Any) -> dict[str, Any]:
    return engine.answer_to(engine.call(function_id, None, **{"traceparent": TRACE, **members}))


def test_a_handler_s_lines_are_sent_with_trace_and_span(engine: Engine, connect: Connect, lines: list[str]) -> None:
    worker = connect()
    worker.register_function(
        "f", lambda _, context: context.log.warn("order late", order_id=7, tags=["a", {"b": True}], at=1.5)
    )
    answer = handled(engine)
    record = log_of(engine, "order late")
    assert {
        "severityNumber": 13,
        "severityText": "WARN",
        "traceId": TRACE_ID,
        "spanId": PARENT,
    }.items() <= record.items()
    attributes = plain(record["attributes"])
    assert (attributes["svc.function_id"], attributes["svc.invocation_id"]) == ("f", answer["invocation_id"])
    assert (attributes["order_id"], attributes["at"]) == ("7", 1.5)
    assert attributes["tags"]["values"][1] == {"kvlistValue": {"values": [{"key": "b", "value": {"boolValue": True}}]}}
    assert abs(int(record["timeUnixNano"]) - time.time_ns()) < 60e9
    line = line_of(lines, "order late")
    assert (line["function_id"], line["trace_id"], line["span_id"]) == ("f", TRACE_ID, PARENT)
    assert line["log_id"] == attributes["svc.log.id"]
    _, resource, _ = engine.peer().telemetry[0]
    assert (resource["service.name"], resource["telemetry.sdk.language"]) == ("probe", "python")


def test_worker_log_carries_the_running_call(engine: Engine, connect: Connect) -> None:
    worker = connect()
    worker.register_function("f", lambda _: worker.log.info("inside"))
    handled(engine)
    assert log_of(engine, "inside")["spanId"] == PARENT
    worker.log.info("outside")
    assert "traceId" not in log_of(engine, "outside")


def test_an_error_field_is_sent_as_an_exception(engine: Engine, connect: Connect) -> None:
    try:
        raise LookupError("too far")
    except LookupError as error:
        connect().log.error("it broke", error=error)
    attributes = plain(log_of(engine, "it broke")["attributes"])
    assert (attributes["exception.type"], attributes["exception.message"]) == ("LookupError", "too far")
    assert "test_telemetry" in attributes["exception.stacktrace"]


def test_buffered_lines_are_sent_at_shutdown(engine: Engine, connect: Connect) -> None:
    worker = connect()
    worker.log.info("last words")
    worker.shutdown()
    log_of(engine, "last words")


def test_lines_below_the_level_are_not_sent(engine: Engine, connect: Connect, lines: list[str]) -> None:
    worker = connect(logger=svc.Logger(level="info", write=lines.append))
    worker.log.debug("quiet")
    worker.log.info("loud")
    log_of(engine, "loud")
    bodies = [record["body"]["stringValue"] for _, _, records in engine.peer().telemetry for record in records]
    assert "quiet" not in bodies


def test_fields_are_limited(engine: Engine, connect: Connect) -> None:
    class Sulking:
        def __repr__(self) -> str:
            raise RuntimeError("no")

    @dataclass
    class Point:
        x: int

    cycle: list[object] = []
    cycle.append(cycle)
    million = {f"key-{n}": n for n in range(1_000_000)}
    worker = connect()
    worker.log.info("odd", big=million, cycle=cycle, nan=float("nan"), sulking=Sulking(), point=Point(1))
    worker.log.info("long", text="x" * 10_000_000, huge=10**30, huger=1 << 100_000, half="\ud800", none=None)
    odd, long = log_of(engine, "odd"), log_of(engine, "long")
    assert len(json.dumps(odd)) < 100_000
    attributes = plain(odd["attributes"])
    assert (attributes["nan"], attributes["sulking"]) == ("nan", "[unreadable]")
    assert attributes["point"]["values"] == [{"key": "x", "value": {"intValue": "1"}}]
    attributes = plain(long["attributes"])
    assert len(attributes["text"]) == 16_385
    assert (attributes["huge"], attributes["huger"], attributes["none"]) == (str(10**30), "[int]", None)


def test_spans_are_children_of_the_call_and_parents_of_what_is_inside(engine: Engine, connect: Connect) -> None:
    worker = connect()
    seen: list[str | None] = []

    @worker.function("g")
    def g(_: object, context: svc.HandlerContext) -> None:
        seen.append(context.traceparent)

    @worker.function("f")
    def f(_: object, context: svc.HandlerContext) -> str | None:
        with context.span("load orders", kind="client", table="orders") as outer:
            outer.set_attribute("rows", 3)
            outer.add_event("loaded", origin="cache")
            context.log.info("loading")
            with worker.span("parse"):
                pass
            worker.call({"function_id": "g"})
            context.call({"function_id": "g"})
            return outer.traceparent

    answer = handled(engine)
    outer = span_of(engine, "load orders")
    assert {"traceId": TRACE_ID, "parentSpanId": PARENT, "kind": 3, "flags": 1}.items() <= outer.items()
    attributes = plain(outer["attributes"])
    assert {"svc.function_id": "f", "table": "orders", "rows": "3"}.items() <= attributes.items()
    assert [event["name"] for event in outer["events"]] == ["loaded"]
    assert int(outer["endTimeUnixNano"]) >= int(outer["startTimeUnixNano"])
    own = f"00-{TRACE_ID}-{outer['spanId']}-01"
    assert span_of(engine, "parse")["parentSpanId"] == outer["spanId"]
    assert log_of(engine, "loading")["spanId"] == outer["spanId"]
    assert (answer["result"], seen) == (own, [own, own])


def test_spans_of_async_handlers_do_not_mix(engine: Engine, connect: Connect) -> None:
    worker = connect()
    worker.register_function("g", lambda _: None)
    inside = asyncio.Event()

    @worker.function("f")
    async def f(_: object, context: svc.HandlerContext) -> None:
        async with context.span("f span"):
            await inside.wait()
            await context.call_async({"function_id": "g"})

    @worker.function("h")
    async def h(_: object, context: svc.HandlerContext) -> str | None:
        inside.set()
        await context.call_async({"function_id": "g"})
        return context.traceparent

    first = engine.call("f", None, traceparent=TRACE)
    other = TRACE.replace("0af7", "0bf7")
    second = engine.call("h", None, traceparent=other)
    engine.answer_to(first)
    engine.answer_to(second)
    span = span_of(engine, "f span")
    parents = {f.get("traceparent") for f in engine.peer().frames if f.get("function_id") == "g" and "data" in f}
    assert parents == {other, f"00-{TRACE_ID}-{span['spanId']}-01"}


def test_a_span_records_and_propagates_an_exception(engine: Engine, connect: Connect) -> None:
    worker = connect()
    with pytest.raises(svc.CallError, match="none left"), worker.span("order"):
        raise svc.CallError("out_of_stock", "none left")
    span = span_of(engine, "order")
    assert span["status"] == {"code": 2, "message": "none left"}
    (event,) = span["events"]
    assert event["name"] == "exception"
    assert plain(event["attributes"])["exception.type"] == "out_of_stock"


def test_spans_outside_of_calls_start_a_trace(engine: Engine, connect: Connect) -> None:
    worker = connect()
    worker.register_function("g", lambda _: None)
    with worker.span("job"):
        worker.call({"function_id": "g"})
        with worker.span("inner"):
            pass
    job = span_of(engine, "job")
    assert "parentSpanId" not in job
    assert span_of(engine, "inner")["parentSpanId"] == job["spanId"]
    frame = engine.peer().heard("invokefunction", function_id="g")
    assert frame["traceparent"] == f"00-{job['traceId']}-{job['spanId']}-01"


def test_spans_of_an_unsampled_call_are_marked_unsampled(engine: Engine, connect: Connect) -> None:
    worker = connect()
    worker.register_function("g", lambda _: None)

    @worker.function("f")
    def f(_: object, context: svc.HandlerContext) -> None:
        with context.span("seen if it fails"):
            worker.call({"function_id": "g"})

    handled(engine, traceparent=UNSAMPLED)
    own = span_of(engine, "seen if it fails")
    assert (own["traceId"], own["parentSpanId"], own["flags"]) == (TRACE_ID, PARENT, 0)
    frame = engine.peer().heard("invokefunction", function_id="g")
    assert frame["traceparent"] == f"00-{TRACE_ID}-{own['spanId']}-00"


def test_spans_of_unsampled_calls_are_rate_limited(engine: Engine, connect: Connect) -> None:
    worker = connect()
    worker.register_function("g", lambda _: None)

    @worker.function("f")
    def f(_: object, context: svc.HandlerContext) -> None:
        for n in range(MAX_UNSAMPLED_PER_SECOND):
            with context.span(f"span {n}"):
                pass
        with context.span("left out"):
            worker.call({"function_id": "g"})

    handled(engine, traceparent=UNSAMPLED)
    assert engine.peer().heard("invokefunction", function_id="g")["traceparent"] == UNSAMPLED
    worker.shutdown()
    sent = [record for signal, _, records in engine.peer().telemetry if signal == "OTLP" for record in records]
    assert len(sent) == MAX_UNSAMPLED_PER_SECOND


def test_a_span_is_limited_validated_and_used_once(engine: Engine, connect: Connect) -> None:
    worker = connect()
    with worker.span("full") as span:
        for n in range(1_000):
            span.set_attribute(f"a{n}", n)
            span.add_event(f"e{n}")
    full = span_of(engine, "full")
    assert (len(full["attributes"]), full["droppedAttributesCount"]) == (128, 872)
    assert (len(full["events"]), full["droppedEventsCount"]) == (128, 872)
    with pytest.raises(RuntimeError, match="once"), span:
        pass
    with pytest.raises(ValueError, match="internal"):
        worker.span("x", kind="sideways")  # type: ignore[arg-type]


def test_baggage_is_propagated_unchanged_and_decoded_for_reading(engine: Engine, connect: Connect) -> None:
    worker = connect()
    worker.register_function("g", lambda _: None)

    @worker.function("f")
    def f(_: object, context: svc.HandlerContext) -> list[str | None]:
        context.call({"function_id": "g"})
        return [context.baggage_entry(name) for name in ("user", "tenant", "broken", "none")]

    baggage = "user=J%C3%BCrgen;ttl=1, tenant = a ,broken=%zz"
    assert handled(engine, baggage=baggage)["result"] == ["Jürgen", "a", "%zz", None]
    assert engine.peer().heard("invokefunction", function_id="g")["baggage"] == baggage


def test_telemetry_is_sent_only_to_engines_of_svc(engine: Engine, connect: Connect) -> None:
    engine.greeting = {}
    worker = connect()
    worker.log.info("kept")
    with worker.span("kept"):
        pass
    worker.shutdown()
    assert engine.peer().telemetry == []


@pytest.mark.parametrize(
    ("options", "variable"),
    [
        ({"telemetry": False}, ""),
        ({"telemetry": {"logs": False, "spans": False, "metrics": False}}, ""),
        ({}, " OFF "),
        ({"kind": "cli"}, ""),
    ],
)
def test_telemetry_can_be_disabled(
    engine: Engine,
    connect: Connect,
    lines: list[str],
    monkeypatch: pytest.MonkeyPatch,
    options: dict[str, Any],
    variable: str,
) -> None:
    monkeypatch.setenv("SVC_TELEMETRY", variable)
    worker = connect(**options)
    worker.log.info("quiet")
    with worker.span("still runs"):
        pass
    register = engine.peer().heard("invokefunction", function_id="engine::workers::register")
    assert "logs" not in register["data"]["features"]
    worker.shutdown()
    assert engine.peer().telemetry == []
    assert "log_id" not in line_of(lines, "quiet")


def test_the_option_overrides_the_environment_variable(
    engine: Engine, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SVC_TELEMETRY", "off")
    connect(telemetry={"logs": True}).log.info("heard")
    log_of(engine, "heard")
    register = engine.peer().heard("invokefunction", function_id="engine::workers::register")
    assert "logs" in register["data"]["features"]


@pytest.mark.parametrize(
    ("telemetry", "problem"),
    [
        ("off", "telemetry must be"),
        ({"logs": 1}, "telemetry must be"),
        ({"traces": True}, "telemetry has no member traces; it may have logs, spans, metrics"),
        ({"span": True}, r"telemetry has no member span; did you mean spans\?"),
    ],
)
def test_an_invalid_telemetry_option_is_rejected(telemetry: Any, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        svc.connect("ws://127.0.0.1:1", telemetry=telemetry)
