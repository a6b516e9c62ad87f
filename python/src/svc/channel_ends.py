"""All channel ends of a worker: creates them, and ends them with the call or the worker that they belong to."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import quote, urlsplit, urlunsplit

from .channel_end import ChannelEnd
from .channel_handle import ChannelHandle
from .channel_reader import ChannelReader
from .channel_refs import ChannelRef, read_channel_ref, replace_channel_refs
from .channel_writer import ChannelWriter
from .context import HandlerContext
from .errors import CallError
from .loop_bridge import LoopBridge
from .requests import CallRequest
from .response_writer import ResponseWriter, is_http_request

CREATE = "engine::channels::create"
MAX_BUFFER_ITEMS = 1_024


@dataclass(frozen=True, slots=True)
class Channel:
    """Both ends of a new channel. Each end can be used once: here, or by whoever receives it (or its ref)."""

    reader: ChannelReader
    writer: ChannelWriter

    @property
    def reader_ref(self) -> ChannelRef:
        return self.reader.ref

    @property
    def writer_ref(self) -> ChannelRef:
        return self.writer.ref


class ChannelEnds:
    def __init__(self, address: Callable[[], str], bridge: LoopBridge) -> None:
        """``address``: returns that of the engine to which the worker is connected."""
        self.bridge = bridge
        self._address = address
        # The following belong to the loop's thread.
        self._in_use: set[ChannelEnd] = set()
        self._dropping: set[asyncio.Task[None]] = set()
        self._idle = asyncio.Event()
        # Running calls whose handlers write to a channel that came with the call.
        self._writing: set[HandlerContext] = set()
        self._is_closed = False

    # ---- on any thread

    def channel(self, created: object) -> Channel:
        """Returns both ends of a channel. ``created``: result of the call of ``channel_creation``."""
        refs = created if isinstance(created, dict) else {}
        return Channel(self.reader(refs.get("reader")), self.writer(refs.get("writer")))

    def reader(self, ref: object, owner: HandlerContext | None = None) -> ChannelReader:
        return ChannelReader(_checked(ref, "read"), owner, self)

    def writer(self, ref: object, owner: HandlerContext | None = None) -> ChannelWriter:
        return ChannelWriter(_checked(ref, "write"), owner, self)

    def replace_refs(self, payload: object, owner: HandlerContext) -> object:
        """Returns the payload with every ref replaced by a reader or writer."""
        replaced = replace_channel_refs(payload, lambda ref: self._of(ref, owner))
        if isinstance(replaced, dict) and is_http_request(replaced):
            writer = replaced.get("response")
            if isinstance(writer, ChannelWriter):
                replaced["response"] = ResponseWriter(writer.ref, owner, self)
        return replaced

    def _of(self, ref: ChannelRef, owner: HandlerContext) -> ChannelReader | ChannelWriter:
        kind = ChannelReader if ref["direction"] == "read" else ChannelWriter
        return kind(ref, owner, self)

    def leave(self, handle: ChannelHandle, reason: str) -> None:
        """Drops an end. Returns immediately."""
        self.bridge.soon(lambda: self._leave(handle.on_loop(), reason))

    def forget(self, end: ChannelEnd) -> None:
        """Drops an end whose handle was garbage-collected."""
        self.bridge.soon(lambda: end.drop("channel_closed", "its reader or writer was garbage-collected"))

    # ---- on the worker's loop

    def make(self, ref: ChannelRef, owner: HandlerContext | None) -> ChannelEnd:
        channel_id, key = quote(ref["channel_id"], safe=""), quote(ref["access_key"], safe="")
        url = f"{_base_of(self._address())}/ws/channels/{channel_id}?key={key}&dir={ref['direction']}"
        return ChannelEnd(url, ref, owner=owner, holder=self)

    def opening(self, end: ChannelEnd) -> None:
        if self._is_closed:
            raise CallError("draining", "the worker was shut down; channels can no longer be opened")
        if end.owner is not None and end.owner.cancelled.is_set():
            raise CallError("call_cancelled", "the call that this channel came with was cancelled")
        self._in_use.add(end)
        if end.owner is not None and end.writes:
            self._writing.add(end.owner)

    def over(self, end: ChannelEnd) -> None:
        self._in_use.discard(end)
        if end.owner is not None:
            self._writing.discard(end.owner)
        if not self._in_use:
            self._idle.set()

    @property
    def in_use(self) -> int:
        """Number of ends that have sockets."""
        return len(self._in_use)

    async def idle(self) -> None:
        """Returns when no end has a socket."""
        while self._in_use:
            self._idle.clear()
            await self._idle.wait()

    def drop_of(self, owner: HandlerContext) -> None:
        """Drops all ends of a cancelled call."""
        for end in [end for end in self._in_use if end.owner is owner]:
            end.drop("call_cancelled", "the call that it came with was cancelled")

    def settle_of(self, owner: HandlerContext) -> bool:
        """Called when a handler has returned. Returns whether it wrote to a channel that came with the call."""
        wrote = owner in self._writing
        self._writing.discard(owner)
        return wrote

    def close(self) -> None:
        """Drops all open ends. No end can be opened afterwards."""
        self._is_closed = True
        for task in self._dropping:
            task.cancel()
        for end in list(self._in_use):
            end.drop("channel_closed", "the worker was shut down before the end")

    def _leave(self, end: ChannelEnd, reason: str) -> None:
        if end.was_used:
            end.drop("channel_closed", reason)
            return
        task = asyncio.ensure_future(end.take_and_drop(reason))
        self._dropping.add(task)
        task.add_done_callback(self._dropping.discard)


def channel_creation(buffer_items: int | None) -> CallRequest:
    """Returns the call that creates a channel. Raises CallError ``invalid_input`` if the size is out of range."""
    if buffer_items is None:
        return {"function_id": CREATE, "payload": {}}
    if isinstance(buffer_items, bool) or not isinstance(buffer_items, int) or not 1 <= buffer_items <= MAX_BUFFER_ITEMS:
        message = f"buffer_items must be a whole number from 1 to {MAX_BUFFER_ITEMS}, not {buffer_items!r}"
        raise CallError("invalid_input", message)
    return {"function_id": CREATE, "payload": {"buffer_size": buffer_items}}


def _checked(ref: object, direction: str) -> ChannelRef:
    read = read_channel_ref(ref)
    if read is None or read["direction"] != direction:
        wanted = f"a dict with channel_id, access_key and direction {direction!r}"
        raise CallError("invalid_input", f"not a ref of a channel end; it must be {wanted}")
    return read


def _base_of(address: str) -> str:
    """The worker's address without its query, which only applies to the worker's socket. Credentials stay."""
    parts = urlsplit(address)
    return urlunsplit((parts.scheme, parts.netloc, parts.path.rstrip("/"), "", ""))
