"""``worker.event`` and triggers of the types ``event`` and ``subscribe`` against the real engine's svc-event."""

from __future__ import annotations

import asyncio
import queue
from collections.abc import Callable
from typing import Any, cast

import pytest

import svc

Connect = Callable[..., svc.Worker]
Heard = queue.SimpleQueue[tuple[str, Any]]


def listen(worker: svc.Worker, type: str, function_id: str, config: svc.EventTriggerConfig) -> Heard:
    """Topic and data of each event."""
    heard: Heard = queue.SimpleQueue()

    def note(data: Any, context: svc.HandlerContext) -> None:
        metadata = cast(svc.EventMetadata, context.metadata)
        heard.put((metadata["svc"]["topic"], data))

    worker.register_function(function_id, note)
    trigger = worker.register_trigger({"type": type, "function_id": function_id, "config": config})
    assert trigger.wait_registered(timeout_s=20) == "active"
    return heard


def test_an_event_reaches_all_subscribers_with_its_topic_and_data(connect_background: Connect) -> None:
    listener, worker = connect_background("listener"), connect_background("publisher")
    one = listen(listener, "event", "ev::one", {"topic": "ev.orders.created"})
    all_ = listen(listener, "event", "ev::all", {"event_name": "ev.orders.*"})
    subscribed = listen(listener, "subscribe", "ev::subscribed", {"topic": "ev.**"})
    assert worker.event.emit("ev.orders.created", {"id": 2**70}) == 3
    assert worker.event.emit("ev.orders.paid") == 2
    worker.event.publish("ev.other", [1])
    assert one.get(timeout=20) == ("ev.orders.created", {"id": 2**70})
    assert [all_.get(timeout=20)[0] for _ in range(2)] == ["ev.orders.created", "ev.orders.paid"]
    assert [subscribed.get(timeout=20) for _ in range(3)][1:] == [("ev.orders.paid", None), ("ev.other", [1])]


def test_events_of_one_worker_arrive_in_order(connect_background: Connect) -> None:
    worker = connect_background()
    heard = listen(worker, "event", "ev-order::note", {"topic": "ev-order"})

    @worker.function("ev-order::publish")
    async def publish(_input: Any) -> None:
        for number in range(200):
            await worker.event.publish_async("ev-order", number)

    worker.call({"function_id": "ev-order::publish"})
    assert [heard.get(timeout=20)[1] for _ in range(200)] == list(range(200))


def test_topics_are_listed_with_their_event_counts(connect_background: Connect) -> None:
    worker = connect_background()
    heard = listen(worker, "event", "ev-list::note", {"topic": "ev-list.topic"})
    worker.event.emit("ev-list.topic", 1)
    heard.get(timeout=20)

    def listed(topics: list[svc.EventTopic]) -> svc.EventTopic:
        (found,) = [topic for topic in topics if topic["topic"] == "ev-list.topic"]
        return found

    topic = listed(worker.event.list())
    assert (topic["subscribers"], topic["published"], topic["failed"], topic["dropped"]) == (1, 1, 0, 0)
    assert (topic["last_published_at"] or "").endswith("Z")
    assert listed(asyncio.run(worker.event.list_async())) == topic


def test_an_event_without_a_topic_is_rejected(connect_background: Connect) -> None:
    worker = connect_background()
    for publish in (worker.event.publish, worker.event.emit):
        with pytest.raises(svc.CallError, match="Topic is not set") as refused:
            publish("", 1)
        assert refused.value.code == "topic_not_set"
