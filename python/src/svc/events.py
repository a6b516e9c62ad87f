"""``worker.event``: events by topic, delivered by the engine's module ``svc-event``."""

from __future__ import annotations

from typing import Any, cast

from . import event_requests as requests
from .event_types import EventTopic
from .helper_calls import HelperCalls

# Within the class `list` is a method.
_Topics = list[EventTopic]


class Events:
    """Every method has an ``_async`` form, for async handlers and other event loops.

    Events are for those who listen at that moment, by triggers of the types ``event`` and ``subscribe``; nothing is
    kept. Each trigger hears the events of one worker in the order in which it published them. What must wait for its
    subscriber is published by ``worker.queue.publish``.

    All raise CallError as ``worker.call`` does: ``function_not_found`` where the engine does not run ``svc-event``,
    ``topic_not_set``.
    """

    def __init__(self, calls: HelperCalls) -> None:
        self._calls = calls

    def publish(self, topic: str, data: Any = None) -> None:
        """Returns when the engine has taken the event, not when it was handled."""
        self._calls.wait(requests.publish(topic, data), "event.publish")

    async def publish_async(self, topic: str, data: Any = None) -> None:
        """As ``publish``, for event loops."""
        await self._calls.await_(requests.publish(topic, data))

    def emit(self, topic: str, data: Any = None) -> int:
        """As ``publish``, and says how many triggers took the event; their functions run behind that."""
        return cast(int, self._calls.wait(requests.emit(topic, data), "event.emit")["delivered_to"])

    async def emit_async(self, topic: str, data: Any = None) -> int:
        """As ``emit``, for event loops."""
        return cast(int, (await self._calls.await_(requests.emit(topic, data)))["delivered_to"])

    def list(self) -> _Topics:
        """Topics that were published to since the engine started, and those that are listened to."""
        return cast(_Topics, self._calls.wait(requests.list_(), "event.list")["topics"])

    async def list_async(self) -> _Topics:
        """As ``list``, for event loops."""
        return cast(_Topics, (await self._calls.await_(requests.list_()))["topics"])
