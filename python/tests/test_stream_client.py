"""``svc.connect_streams``: against scripted messages, and against the real engine."""

from __future__ import annotations

import asyncio
import concurrent.futures
import queue
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import svc
from scripted_streams import ScriptedConnection, ScriptedStreams
from svc.stream_messages import read_inbound
from svc.testing import TestEngine

Connect = Callable[..., svc.Worker]
Open = Callable[..., svc.StreamClient]


@pytest.fixture
def streams() -> Iterator[ScriptedStreams]:
    streams = ScriptedStreams()
    yield streams
    streams.stop()


@pytest.fixture
def open_client(streams: ScriptedStreams, lines: list[str]) -> Iterator[Open]:
    clients: list[svc.StreamClient] = []

    def connect(url: str = streams.url, **options: Any) -> svc.StreamClient:
        reconnect = svc.ReconnectOptions(initial_delay_ms=5, max_delay_ms=20)
        client = svc.connect_streams(url, reconnect=reconnect, logger=svc.Logger(write=lines.append), **options)
        clients.append(client)
        return client

    yield connect
    for client in clients:
        client.close()


class Notebook:
    """Notes what a subscription reports, in order."""

    def __init__(self) -> None:
        self._reported: queue.SimpleQueue[tuple[str, Any]] = queue.SimpleQueue()
        self.handlers: dict[str, Any] = {
            "on_sync": lambda sync: self._reported.put(("sync", (sync.seq, sync.data))),
            "on_event": lambda update: self._reported.put((update.type, (update.seq, update.id, update.data))),
            "on_gap": lambda gap: self._reported.put(("gap", (gap.since, gap.seq, gap.reason))),
            "on_error": lambda error: self._reported.put(("error", error.code)),
            "on_status": lambda status: self._reported.put(("status", status)),
        }

    def next(self, count: int = 1) -> list[tuple[str, Any]]:
        return [self._reported.get(timeout=10) for _ in range(count)]


def greeted(streams: ScriptedStreams, number: int = 1, epoch: str = "first") -> ScriptedConnection:
    connection = streams.connection(number)
    connection.welcome(epoch)
    return connection


def test_it_joins_after_the_welcome_and_delivers_items_and_changes(streams: ScriptedStreams, open_client: Open) -> None:
    client, notes = open_client(), Notebook()
    subscription = client.subscribe("todos", "g", **notes.handlers)
    connection = streams.connection()
    assert connection.message("hello") == {"type": "hello", "data": {"version": 1}}
    connection.welcome()
    client.wait_connected(10)
    join = connection.message("join")
    assert join["data"] == {"subscriptionId": "s1", "streamName": "todos", "groupId": "g"}
    connection.admit(join, 3, [{"n": 1}])
    connection.event(["s1"], 4, {"type": "create", "data": {"n": 2}}, id="b", version=1)
    connection.event(["s1"], 5, {"type": "event", "event": {"type": "cheer", "data": "!"}})
    connection.event(["s1", "gone"], 6, {"type": "delete", "data": {"n": 2}}, id="b", version=2)
    assert notes.next(5) == [
        ("sync", (3, [{"n": 1}])),
        ("status", "live"),
        ("create", (4, "b", {"n": 2})),
        ("event", (5, None, "!")),
        ("delete", (6, "b", {"n": 2})),
    ]
    assert (subscription.status, subscription.seq) == ("live", 6)


def test_it_resumes_after_a_lost_connection_with_each_event_once(streams: ScriptedStreams, open_client: Open) -> None:
    client, notes = open_client(), Notebook()
    client.subscribe("todos", "g", **notes.handlers)
    first = greeted(streams)
    first.admit(first.message("join"), 3, [])
    first.event(["s1"], 4, {"type": "create", "data": 4}, id="a")
    assert notes.next(3)[2] == ("create", (4, "a", 4))
    first.send({"type": "heartbeat", "timestamp": 1, "positions": [{"subscriptionId": "s1", "seq": 5}, None]})
    first.event(["s1"], 5, {"type": "update", "data": "known"}, id="a")
    first.event(["s1"], 6, {"type": "update", "data": 6}, id="a")
    assert notes.next() == [("update", (6, "a", 6))]
    first.cut()

    second = greeted(streams, 2)
    assert second.message("join")["data"]["since"] == {"epoch": "first", "seq": 6}
    second.send({"type": "joined", "data": {"subscriptionId": "s1", "seq": 7, "resumed": True}})
    for seq in (5, 6, 7, 7):
        second.event(["s1"], seq, {"type": "update", "data": seq}, id="a")
    second.event(["s1"], 8, {"type": "update", "data": 8}, id="a")
    assert notes.next(4) == [
        ("status", "joining"),
        ("status", "live"),
        ("update", (7, "a", 7)),
        ("update", (8, "a", 8)),
    ]


def test_after_a_gap_the_sync_replaces_the_items(streams: ScriptedStreams, open_client: Open) -> None:
    client, notes = open_client(), Notebook()
    client.subscribe("todos", "g", "a", **notes.handlers)
    first = greeted(streams)
    assert first.message("join")["data"]["id"] == "a"
    first.admit(first.message("join"), 50, "old")
    assert notes.next(2)[0] == ("sync", (50, "old"))
    first.cut()
    second = greeted(streams, 2, "second")
    second.message("join")
    second.send({"type": "joined", "data": {"subscriptionId": "s1", "seq": 2, "resumed": False}})
    second.send({"type": "gap", "data": {"subscriptionId": "s1", "since": 50, "seq": 2, "reason": "restarted"}})
    second.event(["s1"], 2, {"type": "update", "data": "early"}, id="a")
    second.event(["s1"], 2, {"type": "sync", "data": "new"})
    second.event(["s1"], 3, {"type": "update", "data": "later"}, id="a")
    assert notes.next(5) == [
        ("status", "joining"),
        ("gap", (50, 2, "restarted")),
        ("sync", (2, "new")),
        ("status", "live"),
        ("update", (3, "a", "later")),
    ]


def test_a_rejected_join_is_retried_unless_it_is_malformed(streams: ScriptedStreams, open_client: Open) -> None:
    client, later, never = open_client(), Notebook(), Notebook()
    client.subscribe("todos", "g", **later.handlers)
    client.subscribe("todos", "x", **never.handlers)
    connection = greeted(streams)
    connection.message("join", 2)
    connection.send({"type": "error", "data": {"code": "FORBIDDEN", "message": "not you", "subscriptionId": "s1"}})
    connection.send({"type": "error", "data": {"code": "invalid_name", "message": "no", "subscriptionId": "s2"}})
    assert later.next(2) == [("status", "refused"), ("error", "FORBIDDEN")]
    assert never.next(2) == [("error", "invalid_name"), ("status", "closed")]
    again = connection.message("join", 3)
    assert again["data"]["subscriptionId"] == "s1"
    connection.admit(again, 1, [])
    assert later.next(3) == [("status", "joining"), ("sync", (1, [])), ("status", "live")]
    connection.event(["s1"], 0, {"type": "unauthorized"})
    assert later.next(2) == [("status", "refused"), ("error", "FORBIDDEN")]


def test_leaving_ends_a_subscription(streams: ScriptedStreams, open_client: Open) -> None:
    client, left, stays = open_client(), Notebook(), Notebook()
    before = client.subscribe("todos", "early")
    before.leave()
    subscription = client.subscribe("todos", "g", **left.handlers)
    client.subscribe("todos", "g", **stays.handlers)
    connection = greeted(streams)
    for number in (1, 2):
        connection.admit(connection.message("join", number), 0, [])
    assert left.next(2)[1] == ("status", "live")
    subscription.leave()
    subscription.leave()
    assert connection.message("leave")["data"]["subscriptionId"] == "s2"
    connection.event(["s2", "s3"], 1, {"type": "create", "data": 1}, id="a")
    assert stays.next(3)[2] == ("create", (1, "a", 1))
    assert left.next() == [("status", "closed")]
    assert (before.status, subscription.status) == ("closed", "closed")


def test_close_code_4403_is_final(streams: ScriptedStreams, open_client: Open) -> None:
    client, notes = open_client(), Notebook()
    client.subscribe("todos", "g", **notes.handlers)
    connection = streams.connection()
    connection.message("hello")
    connection.close(4403, "not you")
    with pytest.raises(svc.CallError, match=r"gave up connecting .* not you") as refused:
        client.wait_connected(10)
    assert refused.value.code == "disconnected"
    assert client.connection_state == "failed"
    assert notes.next(2) == [("error", "disconnected"), ("status", "closed")]
    assert client.subscribe("todos", "g").status == "closed"
    assert len(streams.connections) == 1


def test_it_reconnects_after_other_closes_and_when_the_hello_is_rejected(
    streams: ScriptedStreams, open_client: Open
) -> None:
    client = open_client()
    greeted(streams).close(4008, "too slow")
    streams.connection(2).close(4401, "who knows you is not there yet")
    third = streams.connection(3)
    third.message("hello")
    third.send({"type": "error", "data": {"code": "invalid_message", "message": "hello?"}})
    greeted(streams, 4)
    client.wait_connected(10)


def test_malformed_messages_and_failing_handlers_do_no_harm(
    streams: ScriptedStreams, open_client: Open, lines: list[str]
) -> None:
    def fail(_: object) -> None:
        raise ValueError("mine")

    client, notes = open_client(), Notebook()
    client.subscribe("todos", "g", on_sync=fail, on_event=fail)
    client.subscribe("todos", "g", **notes.handlers)
    connection = greeted(streams)
    for number in (1, 2):
        connection.admit(connection.message("join", number), 0, [])
    malformed = ("", "{oops", "null", "[]", "7", '{"type":7}', '{"type":"stream"}', '{"type":"gap"}')
    for text in (*malformed, '{"type":"joined","data":7}', '{"type":"later"}'):
        connection.send(text)
    connection.send({"type": "stream", "seq": 1, "subscriptionIds": ["s2"], "event": {"type": "event", "event": None}})
    connection.event(["s1", "s2"], 1, {"type": "create", "data": 1}, id="a")
    assert notes.next(3) == [("sync", (0, [])), ("status", "live"), ("create", (1, "a", 1))]
    assert any("a handler of a stream subscription failed" in line for line in lines)
    assert read_inbound(b"{}") is None


def test_names_are_checked_and_nothing_is_joined_after_close(streams: ScriptedStreams, open_client: Open) -> None:
    client, notes = open_client(), Notebook()
    for names in (("", "g"), ("s", ""), ("s", "g", "")):
        with pytest.raises(ValueError, match=r"stream_name|group_id|item_id"):
            client.subscribe(*names)
    with pytest.raises(ValueError, match="the streams' url is 'http://x'"):
        svc.connect_streams("http://x")
    client.subscribe("todos", "g", **notes.handlers)
    client.close()
    client.close()
    assert notes.next() == [("status", "closed")]
    for join in (client.subscribe, client.collection):
        with pytest.raises(svc.CallError, match="was closed"):
            join("todos", "g")
    with pytest.raises(svc.CallError, match="the client was shut down"):
        client.wait_connected(10)


def thread_of_client() -> threading.Thread:
    (thread,) = (thread for thread in threading.enumerate() if thread.name == "svc-streams")
    return thread


def test_a_second_thread_that_closes_returns_when_the_first_has_closed(
    streams: ScriptedStreams, open_client: Open
) -> None:
    client, ending, released = open_client(), threading.Event(), threading.Event()
    greeted(streams)
    client.wait_connected(10)
    thread = thread_of_client()

    async def delay_the_end_of_the_loop() -> None:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            ending.set()
            released.wait(10)

    client.on_connection_state(lambda _: asyncio.ensure_future(delay_the_end_of_the_loop()))
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        first = pool.submit(client.close)
        assert ending.wait(10)
        second = pool.submit(client.close)
        assert concurrent.futures.wait([second], 0.2).not_done == {second}
        released.set()
        second.result(20)
        assert not thread.is_alive()
        first.result(20)


def test_a_close_that_times_out_ends_the_thread(
    streams: ScriptedStreams, open_client: Open, lines: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("svc.stream_client._CLOSE_TIMEOUT_S", 0.1)
    client, released = open_client(), threading.Event()
    greeted(streams)
    client.wait_connected(10)
    thread = thread_of_client()
    client.on_connection_state(lambda _: released.wait(10))  # blocks the client's event loop
    client.close()
    client.close()
    released.set()
    thread.join(10)
    assert not thread.is_alive()
    assert len([line for line in lines if "did not close in time" in line]) == 1


def test_token_headers_and_query_are_sent_with_the_upgrade(streams: ScriptedStreams, open_client: Open) -> None:
    open_client(token="t0ken", headers={"x-user": "ann"}, query={"room": "a b"})
    request = streams.connection().request
    assert (request.headers["authorization"], request.headers["x-user"]) == ("Bearer t0ken", "ann")
    assert request.path == "/?room=a+b"


def test_a_collection_contains_the_present_items(streams: ScriptedStreams, open_client: Open) -> None:
    changes: queue.SimpleQueue[tuple[str, str | None, list[str]]] = queue.SimpleQueue()
    client = open_client()
    items = client.collection("todos", "g", on_change=lambda c: changes.put((c.type, c.id, [*c.items])))
    first = greeted(streams)
    with pytest.raises(svc.CallError, match="were not loaded within"):
        items.wait_loaded(0.01)
    first.admit(first.message("join"), 1, [{"n": 1}, {"n": 2}], itemIds=["a", "b"])
    items.wait_loaded(10)
    first.event(["s1"], 2, {"type": "create", "data": {"n": 3}}, id="c")
    first.event(["s1"], 3, {"type": "delete", "data": {"n": 2}}, id="b")
    first.event(["s1"], 4, {"type": "event", "event": {"type": "cheer", "data": None}})
    first.event(["s1"], 5, {"type": "update", "data": {"n": 10}}, id="a")
    expected = [("sync", None, ["a", "b"]), ("create", "c", ["a", "b", "c"]), ("delete", "b", ["a", "c"])]
    assert [changes.get(timeout=10) for _ in range(4)] == [*expected, ("update", "a", ["a", "c"])]
    assert (items.items, len(items), items.get("c"), items.get("b")) == (
        {"a": {"n": 10}, "c": {"n": 3}},
        2,
        {"n": 3},
        None,
    )
    assert (items.status, items.seq) == ("live", 5)
    items.close()
    assert items.status == "closed"


def test_a_collection_takes_ids_from_the_items_if_the_engine_sends_none(
    streams: ScriptedStreams, open_client: Open
) -> None:
    errors: list[str] = []
    client = open_client()
    by_member = client.collection("todos", "g", on_error=lambda error: errors.append(error.message))
    by_function = client.collection("todos", "g", id_of=lambda item: item["name"])
    refused = client.collection("todos", "g")
    connection = greeted(streams)
    connection.admit(connection.message("join", 1), 0, [{"id": "a"}, {}, None])
    connection.admit(connection.message("join", 2), 0, [{"name": "x"}])
    connection.message("join", 3)
    connection.send({"type": "error", "data": {"code": "invalid_name", "message": "no", "subscriptionId": "s3"}})
    for one in (by_member, by_function):
        one.wait_loaded(10)
    assert [*by_member.items] == ["a"]
    assert errors == ["2 items have no id; give the collection an id_of"]
    assert by_function.get("x") == {"name": "x"}
    with pytest.raises(svc.CallError) as problem:
        refused.wait_loaded(10)
    assert problem.value.code == "invalid_name"


def test_it_watches_streams_of_the_real_engine(connect_keeping: Connect, keeping_engine: TestEngine) -> None:
    worker = connect_keeping()
    worker.stream.set("watched", "g", "a", 1)

    async def main() -> None:
        changes: asyncio.Queue[tuple[str, str | None, Any]] = asyncio.Queue()
        loop = asyncio.get_running_loop()

        def note(change: svc.CollectionChange) -> None:
            loop.call_soon_threadsafe(changes.put_nowait, (change.type, change.id, change.item))

        async with svc.connect_streams(keeping_engine.streams_url) as client:
            items = client.collection("watched", "g", on_change=note)
            await items.wait_loaded_async(20)
            assert items.items == {"a": 1}
            await worker.stream.set_async("watched", "g", "b", 2)
            await worker.stream.delete_async("watched", "g", "a")
            seen = [await asyncio.wait_for(changes.get(), 20) for _ in range(3)]
            assert seen == [("sync", None, None), ("create", "b", 2), ("delete", "a", 1)]
            assert items.items == {"b": 2}
        assert client.connection_state == "closed"

    asyncio.run(main())
