"""The SDK in a program that uses OpenTelemetry."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from opentelemetry import baggage, context
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import Tracer

import svc
from engine import Engine

Connect = Callable[..., svc.Worker]
TRACE_ID, PARENT = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
TRACE = f"00-{TRACE_ID}-{PARENT}-01"


@pytest.fixture
def exporter() -> InMemorySpanExporter:
    return InMemorySpanExporter()


@pytest.fixture
def tracer(exporter: InMemorySpanExporter) -> Iterator[Tracer]:
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    yield provider.get_tracer("test")
    provider.shutdown()


@pytest.fixture
def worker(connect: Connect) -> svc.Worker:
    worker = connect()
    worker.register_function("g", lambda _: None)
    return worker


def called_g(engine: Engine) -> dict[str, Any]:
    return engine.peer().heard("invokefunction", function_id="g")


def handled(engine: Engine, **members: Any) -> None:
    assert "error" not in engine.answer_to(engine.call("f", None, **{"traceparent": TRACE, **members}))


def span_named(exporter: InMemorySpanExporter, name: str) -> ReadableSpan:
    return next(span for span in exporter.get_finished_spans() if span.name == name)


def id_of(span: ReadableSpan) -> str:
    assert span.context is not None
    return f"{span.context.span_id:016x}"


def parent_of(span: ReadableSpan) -> str | None:
    return None if span.parent is None else f"{span.parent.span_id:016x}"


@pytest.mark.parametrize("is_async", [False, True])
def test_its_spans_are_children_of_the_call_and_parents_of_calls(
    engine: Engine, worker: svc.Worker, tracer: Tracer, exporter: InMemorySpanExporter, is_async: bool
) -> None:
    def f(_: object, context: svc.HandlerContext) -> None:
        with tracer.start_as_current_span("query"):
            context.call({"function_id": "g"})

    async def f_async(_: object, context: svc.HandlerContext) -> None:
        with tracer.start_as_current_span("query"):
            await context.call_async({"function_id": "g"})

    worker.register_function("f", f_async if is_async else f)
    handled(engine)
    query = span_named(exporter, "query")
    assert parent_of(query) == PARENT
    assert called_g(engine)["traceparent"] == f"00-{TRACE_ID}-{id_of(query)}-01"


def test_its_spans_and_ours_nest(
    engine: Engine, worker: svc.Worker, tracer: Tracer, exporter: InMemorySpanExporter
) -> None:
    seen: list[str | None] = []

    @worker.function("f")
    def f(_: object, context: svc.HandlerContext) -> None:
        with context.span("ours") as ours:
            seen.append(ours.traceparent)
            with tracer.start_as_current_span("theirs"), context.span("inner") as inner:
                seen.append(inner.traceparent)
                worker.call({"function_id": "g"})

    handled(engine)
    assert seen[0] == f"00-{TRACE_ID}-{parent_of(span_named(exporter, 'theirs'))}-01"
    assert called_g(engine)["traceparent"] == seen[1]


def test_calls_outside_of_handlers_are_children_of_its_active_span(
    engine: Engine, worker: svc.Worker, tracer: Tracer, exporter: InMemorySpanExporter
) -> None:
    token = context.attach(baggage.set_baggage("user", "Jürgen & co"))
    with tracer.start_as_current_span("outside"):
        worker.call({"function_id": "g"})
    context.detach(token)
    outside = span_named(exporter, "outside")
    assert outside.context is not None
    frame = called_g(engine)
    assert frame["traceparent"] == f"00-{outside.context.trace_id:032x}-{id_of(outside)}-01"
    assert frame["baggage"] == "user=J%C3%BCrgen%20%26%20co"


def test_a_call_ignores_an_active_span_of_another_trace(engine: Engine, worker: svc.Worker, tracer: Tracer) -> None:
    @worker.function("f")
    def f(_: object, call: svc.HandlerContext) -> None:
        with tracer.start_as_current_span("elsewhere", context=context.Context()):
            call.call({"function_id": "g"})

    worker.register_function("h", lambda _, context: f(None, context))
    assert "error" not in engine.answer_to(engine.call("h", None, traceparent=TRACE))
    assert called_g(engine)["traceparent"] == TRACE


@pytest.mark.parametrize("adds", [False, True])
def test_baggage_propagates_in_both_directions(engine: Engine, worker: svc.Worker, adds: bool) -> None:
    seen: list[object] = []

    @worker.function("f")
    def f(_: object, call: svc.HandlerContext) -> None:
        seen.append(baggage.get_baggage("user"))
        if adds:
            context.attach(baggage.set_baggage("tenant", "a"))
        call.call({"function_id": "g"})

    came = "user=J%C3%BCrgen;ttl=1"
    worker.register_function("h", lambda _, call: f(None, call))
    assert "error" not in engine.answer_to(engine.call("h", None, traceparent=TRACE, baggage=came))
    assert seen == ["Jürgen"]
    assert called_g(engine)["baggage"] == ("user=J%C3%BCrgen,tenant=a" if adds else came)


def test_a_call_without_a_span_is_unchanged(engine: Engine, worker: svc.Worker) -> None:
    worker.call({"function_id": "g"})
    assert called_g(engine).keys().isdisjoint({"traceparent", "baggage"})
