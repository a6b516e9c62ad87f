"""``worker.event``: events by topic, delivered by the engine's module ``svc-event``.

Members of the types have the names of the wire.
"""

from __future__ import annotations

from typing import Any, TypedDict, cast

from .blocking import blocking
from .call_client import ModuleClient


class EventTriggerConfig(TypedDict, total=False):
    """Config of triggers of the type ``event``.

    Attributes:
        topic: A topic or a pattern: ``*`` matches one segment, ``**`` any number. ``.``, ``:`` and ``/`` separate
            segments.
        event: Another name for ``topic``.
        event_name: Another name for ``topic``.
        condition_function_id: Called first, with the data. If it returns False, the handler is not called.
    """

    topic: str
    event: str
    event_name: str
    condition_function_id: str


class _SubscribeTriggerConfig(TypedDict):
    topic: str


class SubscribeTriggerConfig(_SubscribeTriggerConfig, total=False):
    """Config of triggers of the type ``subscribe``; members as in ``EventTriggerConfig``."""

    condition_function_id: str


class EventTopic(TypedDict):
    """A topic that was published to since the engine started, or a topic or pattern that has subscribers.

    Attributes:
        subscribers: Number of triggers bound to it.
        failed: Number of failed function calls.
        dropped: Number of events dropped because a trigger's buffer was full.
        last_published_at: RFC 3339 in UTC; None: never.
    """

    topic: str
    subscribers: int
    published: int
    failed: int
    dropped: int
    last_published_at: str | None


class EventSvcMetadata(TypedDict):
    topic: str


class EventMetadata(TypedDict):
    """``context.metadata`` in calls by ``event`` and ``subscribe`` triggers, beside the members of the trigger's own
    metadata. The handler's input is the data as it was published."""

    svc: EventSvcMetadata


# Within the class `list` is a method.
_Topics = list[EventTopic]


class Events(ModuleClient):
    """Every method has an ``_async`` form, for async handlers and other event loops.

    Events reach the present subscribers, which are triggers of the types ``event`` and ``subscribe``; nothing is
    stored. Each trigger receives the events of one worker in the order in which it published them. Use
    ``worker.queue.publish`` for messages that must wait for their subscriber.

    All raise CallError as ``worker.call`` does: ``function_not_found`` if the engine does not run ``svc-event``,
    ``topic_not_set``.
    """

    _name = "worker.event"

    async def publish_async(self, topic: str, data: Any = None) -> None:
        """Publishes an event. Returns when the engine has received it, before it is handled."""
        await self._call("publish", {"data": data}, topic=topic)

    publish = blocking(publish_async)

    async def emit_async(self, topic: str, data: Any = None) -> int:
        """As ``publish``, and returns how many triggers received the event. Their functions run afterwards."""
        return cast(int, (await self._call("event::emit", {"data": data}, event=topic))["delivered_to"])

    emit = blocking(emit_async)

    async def list_async(self) -> _Topics:
        """Returns the topics that were published to since the engine started, and those that have subscribers."""
        return cast(_Topics, (await self._call("event::list"))["topics"])

    list = blocking(list_async)
