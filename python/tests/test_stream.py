"""``worker.stream`` against the real engine's svc-stream, with clients that speak the plain protocol."""

from __future__ import annotations

import asyncio
import json
import queue
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest
from websockets.sync.client import ClientConnection, connect

import svc
from svc.testing import TestEngine

Connect = Callable[..., svc.Worker]

BIG = 2**70 + 1


class Client:
    """A client that joined one group or item."""

    def __init__(self, socket: ClientConnection, stream_name: str, group_id: str, id: str | None) -> None:
        self._socket = socket
        data = {"subscriptionId": "s", "streamName": stream_name, "groupId": group_id}
        socket.send(json.dumps({"type": "join", "data": data if id is None else {**data, "id": id}}))

    def next(self) -> Any:
        return json.loads(self._socket.recv(timeout=20))

    def next_event(self) -> Any:
        return self.next()["event"]

    def close(self) -> None:
        self._socket.close()


@pytest.fixture
def join(keeping_engine: TestEngine) -> Iterator[Callable[..., Client]]:
    with ExitStack() as sockets:

        def join(stream_name: str, group_id: str, id: str | None = None) -> Client:
            socket = sockets.enter_context(connect(keeping_engine.streams_url, proxy=None))
            return Client(socket, stream_name, group_id, id)

        yield join


def test_items_are_written_read_listed_and_deleted(connect_keeping: Connect) -> None:
    stream = connect_keeping().stream
    name, group = "basic", "g:1"
    first = stream.set(name, group, "a", {"n": BIG})
    assert (first["old_value"], first["new_value"], first["version"], first["seq"]) == (None, {"n": BIG}, 1, 1)
    assert stream.set(name, group, "b", None, if_version=0)["seq"] == 2
    with pytest.raises(svc.CallError) as refused:
        stream.set(name, group, "b", 1, if_version=0)
    assert refused.value.code == "state_conflict"
    assert stream.get(name, group, "a") == {"n": BIG}
    entry = stream.get_entry(name, group, "a")
    assert entry is not None
    assert (entry["item_id"], entry["value"], entry["version"]) == ("a", {"n": BIG}, 1)
    updated = stream.update(name, group, "a", [{"type": "increment", "path": "m", "by": 2}])
    assert (updated["new_value"], updated["version"]) == ({"n": BIG, "m": 2}, 2)
    assert stream.list(name, group) == [{"n": BIG, "m": 2}, None]
    assert [entry["item_id"] for entry in stream.entries(name, group, page_size=1)] == ["a", "b"]
    assert stream.list_groups(name) == [group]
    listing = stream.list_all()
    assert {"id": name, "groups": [group]} in listing["stream"]
    assert listing["count"] == len(listing["stream"])
    assert stream.delete(name, group, "a")["old_value"] == {"n": BIG, "m": 2}
    assert stream.get(name, group, "a") is None
    assert stream.delete(name, group, "a")["old_value"] is None


def test_clients_receive_each_write_and_sent_event(connect_keeping: Connect, join: Callable[..., Client]) -> None:
    stream = connect_keeping().stream
    stream.set("seen", "g", "a", 1)
    client, of_item = join("seen", "g"), join("seen", "g", "b")
    assert client.next_event() == {"type": "sync", "data": [1]}
    assert of_item.next_event() == {"type": "sync", "data": None}
    stream.set("seen", "g", "b", {"n": 1})
    stream.update("seen", "g", "b", [{"type": "increment", "path": "n", "by": 1}])
    stream.send("seen", "g", "typing", {"who": "ada"})
    stream.send("seen", "g", "seen-by", 3, id="b")
    stream.delete("seen", "g", "b")
    whole = [
        {"type": "create", "data": {"n": 1}},
        {"type": "update", "data": {"n": 2}},
        {"type": "event", "event": {"type": "typing", "data": {"who": "ada"}}},
        {"type": "event", "event": {"type": "seen-by", "data": 3}},
        {"type": "delete", "data": {"n": 2}},
    ]
    assert [client.next_event() for _ in whole] == whole
    assert [of_item.next_event() for _ in range(4)] == whole[:2] + whole[3:]


def test_async_handlers_use_the_async_forms(connect_keeping: Connect) -> None:
    worker = connect_keeping()

    @worker.function("stream-async::all")
    async def use(_input: Any) -> Any:
        await worker.stream.set_async("async", "g", "a", BIG)
        await worker.stream.send_async("async", "g", "hello")
        return [entry async for entry in worker.stream.entries_async("async", "g")]

    assert worker.call({"function_id": "stream-async::all"})[0]["value"] == BIG
    assert asyncio.run(worker.stream.list_async("async", "g")) == [BIG]


def test_a_stream_trigger_receives_the_messages_of_clients(connect_keeping: Connect) -> None:
    worker = connect_keeping()
    events: queue.SimpleQueue[svc.StreamEvent] = queue.SimpleQueue()

    @worker.function("stream-trigger::note")
    def note(event: svc.StreamEvent) -> None:
        events.put(event)

    config: svc.StreamTriggerConfig = {"stream_name": "triggers", "group_id": "g"}
    worker.register_trigger(
        {"type": "stream", "function_id": "stream-trigger::note", "config": config}
    ).wait_registered()
    worker.stream.set("triggers", "other", "a", 1)
    worker.stream.set("triggers", "g", "a", BIG)
    worker.stream.send("triggers", "g", "typing", "x")
    first, second = events.get(timeout=20), events.get(timeout=20)
    assert first["event"] == {"type": "create", "data": BIG}
    assert second["event"] == {"type": "event", "event": {"type": "typing", "data": "x"}}
    assert [(event["type"], event["streamName"], event["groupId"], event["id"]) for event in (first, second)] == [
        ("stream", "triggers", "g", "a"),
        ("stream", "triggers", "g", None),
    ]


def test_join_and_leave_triggers_fire_and_can_reject_a_join(
    connect_keeping: Connect, join: Callable[..., Client]
) -> None:
    worker = connect_keeping()
    told: queue.SimpleQueue[tuple[str, svc.StreamJoinEvent]] = queue.SimpleQueue()

    @worker.function("stream-join::decide")
    def decide(event: svc.StreamJoinEvent) -> svc.StreamJoinAnswer:
        told.put(("join", event))
        return {"unauthorized": event["group_id"] == "secret"}

    @worker.function("stream-leave::note")
    def note(event: svc.StreamJoinEvent) -> None:
        told.put(("leave", event))

    config: svc.StreamJoinTriggerConfig = {"stream_name": "doors"}
    for type, function_id in (("stream:join", "stream-join::decide"), ("stream:leave", "stream-leave::note")):
        trigger = worker.register_trigger({"type": type, "function_id": function_id, "config": config})
        assert trigger.wait_registered() == "active"

    assert join("doors", "secret").next_event() == {"type": "unauthorized"}
    client = join("doors", "open", "a")
    assert client.next_event() == {"type": "sync", "data": None}
    client.close()
    seen = [told.get(timeout=20) for _ in range(3)]
    assert [(what, event["group_id"], event["id"]) for what, event in seen] == [
        ("join", "secret", None),
        ("join", "open", "a"),
        ("leave", "open", "a"),
    ]
    assert seen[0][1] == {
        "subscription_id": "s",
        "stream_name": "doors",
        "group_id": "secret",
        "id": None,
        "context": None,
    }


def test_results_need_no_version() -> None:
    """If functions of a worker store the items, results have no version."""
    for result in (svc.StreamSetResult, svc.StreamUpdateResult):
        assert result.__required_keys__ == {"old_value", "new_value"}
        assert {"version", "seq", "durability"} <= result.__optional_keys__
