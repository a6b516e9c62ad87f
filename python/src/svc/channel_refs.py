"""Refs: the form of channel ends in payloads. No I/O."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, TypedDict


class ChannelRef(TypedDict):
    """One end of a channel in a payload. The ref is enough to use that end, once."""

    channel_id: str
    access_key: str
    direction: Literal["read", "write"]


class NamedByRef:
    """Object that is encoded in payloads as its ref."""

    __slots__ = ("ref",)

    def __init__(self, ref: ChannelRef) -> None:
        #: The ref with which others can use this end.
        self.ref = ref


#: Occurs in the JSON text of every payload that contains a ref. Other payloads need not be searched.
MARK = '"access_key"'


def read_channel_ref(value: object) -> ChannelRef | None:
    """Returns the ref without other members, or None if the value is not a ref."""
    if not isinstance(value, dict):
        return None
    channel_id, access_key, direction = (value.get(name) for name in ("channel_id", "access_key", "direction"))
    if not isinstance(channel_id, str) or not isinstance(access_key, str):
        return None
    if direction == "read":
        return {"channel_id": channel_id, "access_key": access_key, "direction": "read"}
    if direction == "write":
        return {"channel_id": channel_id, "access_key": access_key, "direction": "write"}
    return None


def replace_channel_refs(payload: object, end_of: Callable[[ChannelRef], object]) -> object:
    """Returns the payload with every ref replaced by an end, at any depth. Changes dicts and lists in place."""
    root: list[object] = [payload]
    # Without recursion, since a payload may be nested as deeply as the JSON parser permits.
    unseen: list[dict[str, object] | list[object]] = [root]
    while unseen:
        holder = unseen.pop()
        for key, value in list(holder.items()) if isinstance(holder, dict) else enumerate(holder):
            ref = read_channel_ref(value)
            if ref is not None:
                holder[key] = end_of(ref)  # type: ignore[index]
            elif isinstance(value, (dict, list)):
                unseen.append(value)
    return root[0]
