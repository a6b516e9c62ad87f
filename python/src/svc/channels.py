"""Making channels: what the engine is asked, and what comes of its answer."""

from __future__ import annotations

from dataclasses import dataclass

from .channel_ends import ChannelEnds
from .channel_reader import ChannelReader
from .channel_refs import ChannelRef
from .channel_writer import ChannelWriter
from .errors import CallError
from .requests import CallRequest

CREATE = "engine::channels::create"
MAX_BUFFER_ITEMS = 1_024


@dataclass(frozen=True, slots=True)
class Channel:
    """Both ends of a new channel. Each can be taken once: here, or by whoever gets it (or its ref) in a payload."""

    reader: ChannelReader
    writer: ChannelWriter

    @property
    def reader_ref(self) -> ChannelRef:
        return self.reader.ref

    @property
    def writer_ref(self) -> ChannelRef:
        return self.writer.ref


def creation_of(buffer_items: int | None) -> CallRequest:
    """The call that makes a channel. CallError ``invalid_input`` when the size is out of range."""
    if buffer_items is None:
        return {"function_id": CREATE, "payload": {}}
    if isinstance(buffer_items, bool) or not isinstance(buffer_items, int) or not 1 <= buffer_items <= MAX_BUFFER_ITEMS:
        message = f"buffer_items must be a whole number from 1 to {MAX_BUFFER_ITEMS}, not {buffer_items!r}"
        raise CallError("invalid_input", message)
    return {"function_id": CREATE, "payload": {"buffer_size": buffer_items}}


def channel_of(answer: object, ends: ChannelEnds) -> Channel:
    refs = answer if isinstance(answer, dict) else {}
    return Channel(ends.reader(refs.get("reader")), ends.writer(refs.get("writer")))
