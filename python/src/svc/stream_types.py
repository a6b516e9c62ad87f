"""What ``worker.stream`` takes and answers, and what stream triggers hand over; members have the names of the wire."""

from __future__ import annotations

from typing import Any, Literal, TypedDict

from .state_types import Durability
from .update_ops import UpdateOpError


class _StreamEntry(TypedDict):
    item_id: str
    value: Any
    version: int
    updated_at: str
    bytes: int


class StreamEntry(_StreamEntry, total=False):
    """One item, as ``StateEntry``."""

    expires_at: str


class StreamPage(TypedDict):
    """``cursor`` leads to the next page; None behind the last. ``total``: items on all pages."""

    items: list[StreamEntry]
    cursor: str | None
    total: int


class _StreamSetResult(TypedDict):
    old_value: Any
    new_value: Any


class StreamSetResult(_StreamSetResult, total=False):
    """``seq`` numbers the events of a group; absent where nothing changed. ``version``: of the item; absent where
    functions of a worker keep it."""

    version: int
    seq: int
    durability: Durability


class StreamUpdateResult(StreamSetResult, total=False):
    """With ``errors`` nothing was written, unless the update was not atomic."""

    errors: list[UpdateOpError]


class _StreamDeleteResult(TypedDict):
    old_value: Any


class StreamDeleteResult(_StreamDeleteResult, total=False):
    seq: int
    durability: Durability


class StreamGroups(TypedDict):
    id: str
    groups: list[str]


class StreamListing(TypedDict):
    """Every stream that holds items, with its groups."""

    stream: list[StreamGroups]
    count: int


class StreamTriggerConfig(TypedDict, total=False):
    """Config of triggers of the type ``stream``. What is left out matches everything."""

    stream_name: str
    group_id: str
    item_id: str
    condition_function_id: str


class StreamJoinTriggerConfig(TypedDict, total=False):
    """Config of triggers of the types ``stream:join`` and ``stream:leave``."""

    stream_name: str
    group_id: str
    condition_function_id: str


class StreamItemChange(TypedDict):
    """What happened to an item: ``data`` is the new value, of a ``delete`` the one that was there."""

    type: Literal["create", "update", "delete"]
    data: Any


class StreamSentEvent(TypedDict):
    """What ``stream.send`` was given."""

    type: str
    data: Any


class StreamSent(TypedDict):
    type: Literal["event"]
    event: StreamSentEvent


class _StreamEvent(TypedDict):
    type: Literal["stream"]
    timestamp: int
    streamName: str
    groupId: str
    id: str | None
    event: StreamItemChange | StreamSent


class StreamEvent(_StreamEvent, total=False):
    """Payload of a ``stream`` trigger, the message that clients get. ``id`` is None of an event of the whole group.
    ``timestamp``: milliseconds since 1970. ``seq``: the event's number in its group; ``version``: of the item, where it
    has one."""

    seq: int
    version: int


class StreamJoinEvent(TypedDict):
    """Payload of ``stream:join`` and ``stream:leave``. ``id`` is None where the whole group is joined; ``context`` is
    what the auth function answered, or None."""

    subscription_id: str
    stream_name: str
    group_id: str
    id: str | None
    context: Any


class StreamJoinAnswer(TypedDict, total=False):
    """What a handler of ``stream:join`` may answer; ``unauthorized: True`` refuses the join."""

    unauthorized: bool
