"""Arguments and results of ``worker.stream``, and payload of stream triggers. Members have the names of the wire."""

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
    """One item. Members as in ``StateEntry``."""

    expires_at: str


class StreamPage(TypedDict):
    """``cursor``: for the next page; None on the last page. ``total``: number of items on all pages."""

    items: list[StreamEntry]
    cursor: str | None
    total: int


class _StreamSetResult(TypedDict):
    old_value: Any
    new_value: Any


class StreamSetResult(_StreamSetResult, total=False):
    """``seq``: number of the event in its group; absent if nothing changed. ``version``: of the item; absent if
    functions of a worker store it."""

    version: int
    seq: int
    durability: Durability


class StreamUpdateResult(StreamSetResult, total=False):
    """If ``errors`` is present, nothing was written, unless the update was not atomic."""

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
    """Every stream that contains items, with its groups."""

    stream: list[StreamGroups]
    count: int


class StreamTriggerConfig(TypedDict, total=False):
    """Config of triggers of the type ``stream``. Missing members match everything."""

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
    """Change of an item. ``data``: the new value; for ``delete``, the old value."""

    type: Literal["create", "update", "delete"]
    data: Any


class StreamSentEvent(TypedDict):
    """Type and data of ``stream.send``."""

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
    """Payload of a ``stream`` trigger, the message that clients receive. ``id`` is None for events of the whole group.
    ``timestamp``: milliseconds since 1970. ``seq``: number of the event in its group. ``version``: of the item, if it
    has one."""

    seq: int
    version: int


class StreamJoinEvent(TypedDict):
    """Payload of ``stream:join`` and ``stream:leave``. ``id`` is None if the client joins the whole group. ``context``:
    result of the auth function, or None."""

    subscription_id: str
    stream_name: str
    group_id: str
    id: str | None
    context: Any


class StreamJoinAnswer(TypedDict, total=False):
    """Result of a ``stream:join`` handler. ``unauthorized: True`` rejects the join."""

    unauthorized: bool
