"""Messages of the engine to stream clients, and what users get of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, cast

from .codec import NotJson, decode_json

#: ``joining``: not up to date; waits for a connection, for the engine's answer, or after a gap for the sync. ``live``:
#: all events up to now were delivered. ``refused``: the engine rejected the join, which is retried with backoff.
#: ``closed``: left, or the client was closed or gave up.
SubscriptionStatus: TypeAlias = Literal["joining", "live", "refused", "closed"]

ItemChangeType: TypeAlias = Literal["create", "update", "delete"]
GapReason: TypeAlias = Literal["restarted", "expired", "overflow", "unclear"]


@dataclass(frozen=True, slots=True)
class StreamUpdate:
    """A change of an item, or a notice that was sent with ``stream.send``.

    Attributes:
        type: ``event`` for a notice.
        id: The item's id. None for a notice to the whole group.
        data: The item; for ``delete`` the deleted one; for ``event`` the data of the notice.
        event_type: Type of the notice. None for a change of an item.
        seq: Number of the event in its group. Strictly increasing.
        version: Version of the item, if the stream has versions.
        timestamp: Milliseconds since 1970.
    """

    type: Literal["create", "update", "delete", "event"]
    id: str | None
    data: Any
    event_type: str | None
    seq: int
    version: int | None
    timestamp: int


@dataclass(frozen=True, slots=True)
class StreamSync:
    """All data of a group or item: after the first join, and after a gap.

    Attributes:
        data: A list of the group's items, or the item, or None if there is no such item.
        seq: Number of the last event that it contains.
        item_ids: Ids of the group's items, in the same order, if the engine sends them.
    """

    data: Any
    seq: int
    item_ids: list[str] | None


@dataclass(frozen=True, slots=True)
class StreamGap:
    """Missed events. A sync follows, which contains the result of all but the missed notices.

    Attributes:
        since: Number of the last delivered event. None if the engine does not know it.
        seq: Number of the last missed event.
        reason: ``restarted``: the engine restarted. ``expired``: the engine no longer stores the events. ``overflow``:
            this side did not read fast enough. ``unclear``: a write failed but may be stored.
    """

    since: int | None
    seq: int
    reason: GapReason


@dataclass(frozen=True, slots=True)
class Welcome:
    """``epoch``: id of the engine's run, in which sequence numbers are valid."""

    epoch: str


@dataclass(frozen=True, slots=True)
class Joined:
    name: str
    resumed: bool


@dataclass(frozen=True, slots=True)
class Delivery:
    """An event for several subscriptions. ``unauthorized``: their joins were revoked."""

    names: list[str]
    content: StreamUpdate | StreamSync | Literal["unauthorized"]


@dataclass(frozen=True, slots=True)
class Missed:
    name: str
    gap: StreamGap


@dataclass(frozen=True, slots=True)
class Refusal:
    """``name``: None if it belongs to no subscription."""

    name: str | None
    code: str
    message: str


@dataclass(frozen=True, slots=True)
class Positions:
    """Sequence numbers of subscriptions without undelivered events, by name."""

    seqs: dict[str, int]


Inbound: TypeAlias = Welcome | Joined | Delivery | Missed | Refusal | Positions


def read_inbound(frame: str | bytes) -> Inbound | Literal["unknown"] | None:
    """Parses a message. ``unknown``: a ping, or one that this version does not know. None: not a message."""
    try:
        message = decode_json(frame) if isinstance(frame, str) else None
    except NotJson:
        return None
    if not isinstance(message, dict) or not isinstance(message.get("type"), str):
        return None
    data = _dict(message.get("data"))
    name = _text(data.get("subscriptionId"))
    match message["type"]:
        case "welcome":
            return Welcome(data["epoch"]) if isinstance(data.get("epoch"), str) else None
        case "joined":
            return Joined(name, data.get("resumed") is True)
        case "stream":
            return _delivery(message)
        case "gap":
            return Missed(name, _gap(data))
        case "error":
            code, reason = _text(data.get("code"), "UNKNOWN"), _text(data.get("message"), "the engine gave no reason")
            return Refusal(name or None, code, reason)
        case "heartbeat":
            return Positions(_positions(message.get("positions")))
        case _:
            return "unknown"


def _delivery(message: dict[str, Any]) -> Delivery | Literal["unknown"]:
    names = _texts(message.get("subscriptionIds")) or []
    event = _dict(message.get("event"))
    seq = _number(message.get("seq"))
    type, id = event.get("type"), message.get("id")
    if type == "unauthorized":
        return Delivery(names, "unauthorized")
    if type == "sync":
        return Delivery(names, StreamSync(event.get("data"), seq, _texts(message.get("itemIds"))))
    version, timestamp = message.get("version"), _number(message.get("timestamp"))
    if type in ("create", "update", "delete"):
        of_item = version if isinstance(version, int) else None
        change = cast(ItemChangeType, type)
        return Delivery(names, StreamUpdate(change, _text(id), event.get("data"), None, seq, of_item, timestamp))
    notice = event.get("event")
    if type != "event" or not isinstance(notice, dict):
        return "unknown"
    item_id = id if isinstance(id, str) else None
    sent = StreamUpdate("event", item_id, notice.get("data"), _text(notice.get("type")), seq, None, timestamp)
    return Delivery(names, sent)


def _gap(data: dict[str, Any]) -> StreamGap:
    since, reason = data.get("since"), data.get("reason")
    known: GapReason = reason if reason in ("restarted", "expired", "overflow", "unclear") else "expired"
    return StreamGap(since if isinstance(since, int) else None, _number(data.get("seq")), known)


def _positions(given: object) -> dict[str, int]:
    listed = [_dict(one) for one in given] if isinstance(given, list) else []
    return {_text(one.get("subscriptionId")): _number(one.get("seq")) for one in listed}


def _dict(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _text(value: object, otherwise: str = "") -> str:
    return value if isinstance(value, str) else otherwise


def _texts(value: object) -> list[str] | None:
    return value if isinstance(value, list) and all(isinstance(each, str) for each in value) else None


def _number(value: object) -> int:
    return value if isinstance(value, int) else 0
