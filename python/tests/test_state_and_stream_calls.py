"""Calls of the methods of ``worker.state`` and ``worker.stream``, and where they may be used."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

import svc
from async_forms import AsyncForms
from engine import Engine
from svc.blocking import blocking

Connect = Callable[..., svc.Worker]
Method = Callable[[svc.Worker], Any]

INCREMENT: svc.UpdateOp = {"type": "increment", "path": ["n", "m"], "by": 2**60}
#: Method, function that it calls, payload.
ASKED: list[tuple[Method, str, dict[str, Any]]] = [
    (lambda w: w.state.get("s", ""), "state::get", {"scope": "s", "key": ""}),
    (lambda w: w.state.get_entry("s", "k"), "state::get_entry", {"scope": "s", "key": "k"}),
    (lambda w: w.state.set("s", "k", None), "state::set", {"scope": "s", "key": "k", "value": None}),
    (
        lambda w: w.state.set("s", "k", 0, if_version=0, expires_in_ms=5),
        "state::set",
        {"scope": "s", "key": "k", "value": 0, "if_version": 0, "expires_in_ms": 5},
    ),
    (
        lambda w: w.state.update("s", "k", (INCREMENT,)),
        "state::update",
        {"scope": "s", "key": "k", "ops": [INCREMENT], "atomic": True},
    ),
    (
        lambda w: w.state.update("s", "k", [], atomic=False, if_version=3),
        "state::update",
        {"scope": "s", "key": "k", "ops": [], "atomic": False, "if_version": 3},
    ),
    (
        lambda w: w.state.delete("s", "k", if_version=2),
        "state::delete",
        {"scope": "s", "key": "k", "if_version": 2},
    ),
    (lambda w: w.state.get_many("s", {"a": 1}), "state::get_many", {"scope": "s", "keys": ["a"]}),
    (
        lambda w: w.state.set_many(iter([{"scope": "s", "key": "k", "value": None}])),
        "state::set_many",
        {"items": [{"scope": "s", "key": "k", "value": None}]},
    ),
    (lambda w: w.state.delete_many("s", keys=("a",)), "state::delete_many", {"scope": "s", "keys": ["a"]}),
    (lambda w: w.state.delete_many("s", prefix=""), "state::delete_many", {"scope": "s", "prefix": ""}),
    (lambda w: w.state.list("s"), "state::list", {"scope": "s"}),
    (
        lambda w: w.state.entries_page("s", prefix="p", cursor="c", limit=5),
        "state::entries",
        {"scope": "s", "prefix": "p", "cursor": "c", "limit": 5},
    ),
    (lambda w: w.state.list_groups(), "state::list_groups", {}),
    (lambda w: w.state.groups_page(limit=1), "state::groups", {"limit": 1}),
    (lambda w: w.state.snapshot(), "state::snapshot", {}),
    (lambda w: w.state.snapshot("daily"), "state::snapshot", {"name": "daily"}),
    (
        lambda w: w.stream.get("n", "g", "i"),
        "stream::get",
        {"stream_name": "n", "group_id": "g", "item_id": "i"},
    ),
    (
        lambda w: w.stream.get_entry("n", "g", "i"),
        "stream::get_entry",
        {"stream_name": "n", "group_id": "g", "item_id": "i"},
    ),
    (
        lambda w: w.stream.set("n", "g", "i", None, if_version=1, expires_in_ms=9),
        "stream::set",
        {"stream_name": "n", "group_id": "g", "item_id": "i", "data": None, "if_version": 1, "expires_in_ms": 9},
    ),
    (
        lambda w: w.stream.update("n", "g", "i", [INCREMENT]),
        "stream::update",
        {"stream_name": "n", "group_id": "g", "item_id": "i", "ops": [INCREMENT], "atomic": True},
    ),
    (
        lambda w: w.stream.delete("n", "g", "i", if_version=4),
        "stream::delete",
        {"stream_name": "n", "group_id": "g", "item_id": "i", "if_version": 4},
    ),
    (lambda w: w.stream.list("n", "g"), "stream::list", {"stream_name": "n", "group_id": "g"}),
    (
        lambda w: w.stream.entries_page("n", "g", limit=2),
        "stream::entries",
        {"stream_name": "n", "group_id": "g", "limit": 2},
    ),
    (lambda w: w.stream.list_groups("n"), "stream::list_groups", {"stream_name": "n"}),
    (lambda w: w.stream.list_all(), "stream::list_all", {}),
    (
        lambda w: w.stream.send("n", "g", "typing", {"who": "me"}, id="i"),
        "stream::send",
        {"stream_name": "n", "group_id": "g", "type": "typing", "data": {"who": "me"}, "id": "i"},
    ),
    (
        lambda w: w.stream.send("n", "g", "typing"),
        "stream::send",
        {"stream_name": "n", "group_id": "g", "type": "typing", "data": None},
    ),
]


@pytest.mark.parametrize(("method", "function_id", "payload"), ASKED)
def test_both_forms_send_the_same_call(
    connect: Connect, method: Any, function_id: str, payload: dict[str, Any], engine: Engine
) -> None:
    provider, worker = connect("provider"), connect("worker")
    heard: list[Any] = []

    def note(input: Any) -> Any:
        heard.append(input)
        return {"items": [], "cursor": None, "total": 0, "groups": [], "deleted": 0}

    provider.register_function(function_id, note)
    engine.peer().heard("registerfunction", id=function_id)

    async def of_async_form() -> Any:
        return await method(AsyncForms(worker))

    assert method(worker) == asyncio.run(of_async_form())
    assert heard == [payload, payload]


def provide_pages(provider: svc.Worker, engine: Engine, function_id: str) -> None:
    pages = {None: ([{"key": "a"}], "x"), "x": ([], "y"), "y": ([{"key": "b"}, {"key": "c"}], None)}

    def page(input: Any) -> Any:
        assert input.get("limit") == 2
        items, cursor = pages[input.get("cursor")]
        return {"items": items, "cursor": cursor, "total": 3}

    provider.register_function(function_id, page)
    engine.peer().heard("registerfunction", id=function_id)


@pytest.mark.parametrize(
    ("function_id", "entries"),
    [
        ("state::entries", lambda of: of.state.entries("s", page_size=2)),
        ("state::groups", lambda of: of.state.groups(page_size=2)),
        ("stream::entries", lambda of: of.stream.entries("n", "g", page_size=2)),
    ],
)
def test_iterators_fetch_all_pages(
    connect: Connect, engine: Engine, function_id: str, entries: Callable[[Any], Any]
) -> None:
    provider, worker = connect("provider"), connect("worker")
    provide_pages(provider, engine, function_id)

    async def of_async_form() -> list[Any]:
        return [entry async for entry in entries(AsyncForms(worker))]

    whole = [{"key": "a"}, {"key": "b"}, {"key": "c"}]
    assert list(entries(worker)) == whole
    assert asyncio.run(of_async_form()) == whole


class PrefixedState(svc.State):
    def __init__(self, of: svc.State, prefix: str) -> None:
        super().__init__(of._calls)
        self.prefix = prefix

    async def get_prefixed_async(self, scope: str, key: str) -> Any:
        return await self.get_async(scope, self.prefix + key)

    get_prefixed = blocking(get_prefixed_async)


def test_blocking_methods_of_a_subclass_use_its_instance(connect: Connect, engine: Engine) -> None:
    provider, worker = connect("provider"), connect("worker")
    provider.register_function("state::get", lambda input: input["key"])
    engine.peer().heard("registerfunction", id="state::get")
    state = PrefixedState(worker.state, "mine/")
    assert state.get_prefixed("s", "k") == "mine/k"
    assert state.get("s", "k") == "k"
    assert asyncio.run(state.get_prefixed_async("s", "k")) == "mine/k"


def test_sync_and_async_handlers_propagate_the_trace(connect: Connect, engine: Engine) -> None:
    provider, worker = connect("provider"), connect("worker", max_sync_handlers=1)
    traces: list[str | None] = []

    def get(_input: Any, context: svc.HandlerContext) -> int:
        traces.append(context.traceparent)
        return 1

    provider.register_function("state::get", get)
    engine.peer().heard("registerfunction", id="state::get")

    @worker.function("reads::sync")
    def reads(_input: Any) -> Any:
        return worker.state.get("s", "k")

    @worker.function("reads::async")
    async def reads_async(_input: Any) -> Any:
        with pytest.raises(RuntimeError, match=r"worker\.state\.get\(\) would block .* worker\.state\.get_async"):
            worker.state.get("s", "k")
        return await worker.state.get_async("s", "k")

    trace = "00-0123456789abcdef0123456789abcdef-0123456789abcdef-01"
    for function_id in ("reads::sync", "reads::async"):
        assert engine.answer_to(engine.call(function_id, None, traceparent=trace))["result"] == 1
    assert traces == [trace, trace]


def test_invalid_arguments_are_rejected_before_sending(connect: Connect) -> None:
    worker = connect()
    for mistake in (
        lambda: worker.state.delete_many("s"),
        lambda: worker.state.delete_many("s", keys=[], prefix="p"),
        lambda: worker.state.get_many("s", "abc"),
        lambda: worker.state.set("s", "k", {1, 2}),
    ):
        with pytest.raises(svc.CallError) as refused:
            mistake()
        assert refused.value.code == "invalid_input"
