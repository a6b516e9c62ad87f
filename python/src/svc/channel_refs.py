"""How payloads name the ends of channels, and how those names become ends. No I/O."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, TypedDict


class ChannelRef(TypedDict):
    """One end of a channel as it stands in a payload. Whoever holds it may take that end, once."""

    channel_id: str
    access_key: str
    direction: Literal["read", "write"]


class NamedByRef:
    """Written into a payload as its ref."""

    __slots__ = ("ref",)

    def __init__(self, ref: ChannelRef) -> None:
        #: What others need to take this end.
        self.ref = ref


#: Stands in the text of every payload that names a channel; a text without it need not be searched.
MARK = '"access_key"'


def read_channel_ref(value: object) -> ChannelRef | None:
    """The ref, without whatever else the object holds; None when the value is none."""
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
    """The payload with an end in the place of every ref, at any depth. Dicts and lists are changed in place."""
    root: list[object] = [payload]
    # Without recursion: a payload may be nested as deeply as JSON could be read.
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
