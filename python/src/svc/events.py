"""``worker.event``: events by topic, delivered by the engine's module ``svc-event``."""

from __future__ import annotations

from typing import Any, cast

from . import event_requests as requests
from .blocking import Helper, blocking
from .event_types import EventTopic

# Within the class `list` is a method.
_Topics = list[EventTopic]


class Events(Helper):
    """Every method has an ``_async`` form, for async handlers and other event loops.

    Events are for those who listen at that moment, by triggers of the types ``event`` and ``subscribe``; nothing is
    kept. Each trigger hears the events of one worker in the order in which it published them. What must wait for its
    subscriber is published by ``worker.queue.publish``.

    All raise CallError as ``worker.call`` does: ``function_not_found`` where the engine does not run ``svc-event``,
    ``topic_not_set``.
    """

    _name = "event"

    async def publish_async(self, topic: str, data: Any = None) -> None:
        """Returns when the engine has taken the event, not when it was handled."""
        await self._calls.call(requests.publish(topic, data))

    publish = blocking(publish_async)

    async def emit_async(self, topic: str, data: Any = None) -> int:
        """As ``publish``, and says how many triggers took the event; their functions run behind that."""
        return cast(int, (await self._calls.call(requests.emit(topic, data)))["delivered_to"])

    emit = blocking(emit_async)

    async def list_async(self) -> _Topics:
        """Topics that were published to since the engine started, and those that are listened to."""
        return cast(_Topics, (await self._calls.call(requests.list_()))["topics"])

    list = blocking(list_async)
