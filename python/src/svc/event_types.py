"""What ``worker.event`` answers, and what triggers on events take; members have the names of the wire."""

from __future__ import annotations

from typing import TypedDict


class EventTriggerConfig(TypedDict, total=False):
    """Config of triggers of the type ``event``.

    Attributes:
        topic: A topic, or a pattern: ``*`` stands for one segment, ``**`` for any number; segments are divided by
            ``.``, ``:`` and ``/``.
        event: Another name for ``topic``.
        event_name: Another name for ``topic``.
        condition_function_id: Called with the data first; the handler is not when it answers False.
    """

    topic: str
    event: str
    event_name: str
    condition_function_id: str


class _SubscribeTriggerConfig(TypedDict):
    topic: str


class SubscribeTriggerConfig(_SubscribeTriggerConfig, total=False):
    """Config of triggers of the type ``subscribe``; members as those of ``EventTriggerConfig``."""

    condition_function_id: str


class EventTopic(TypedDict):
    """A topic that was published to since the engine started, or one (or a pattern) that is listened to.

    Attributes:
        subscribers: Triggers that are bound to it.
        failed: Calls of functions that failed.
        dropped: Events that a trigger had no room for.
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
    """What ``context.metadata`` holds in calls by ``event`` and ``subscribe`` triggers, beside the members of the
    trigger's own metadata. The handler's input is the data as it was published."""

    svc: EventSvcMetadata
