"""The reading end of a channel, as users see it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from typing import Any, ClassVar

from .blocking import blocking, run
from .channel_handle import ChannelHandle
from .codec import NotJson, decode_json
from .errors import CallError

#: Default limit of `read_all`, `text` and `json`.
DEFAULT_MAX_BYTES = 16 * 1024 * 1024


class ChannelReader(ChannelHandle):
    """The reading end of a channel: items in order, ``bytes`` or ``str`` as they were written.

    It connects at its first use and receives items only as fast as they are read, so a slow reader slows its writer
    down. Iterate over it with ``for`` in threads (sync handlers too) and ``async for`` in event loops. If it is passed
    in a payload *before its first use*, the receiver can read it instead: an end can be used by one worker only.

    If the writer disconnects early, reads raise CallError ``channel_closed``: the data is incomplete.

    Methods without ``_async`` block the thread. They raise RuntimeError inside an async handler.

    Attributes:
        ref: Names this end in payloads.
    """

    __slots__ = ()
    _name: ClassVar[str] = "reader"

    # ---- items

    async def read_async(self) -> str | bytes | None:
        """As ``read``, for event loops. Cancelling it loses no item."""
        return await self._ends.bridge.run(self._read)

    def read(self, timeout_s: float | None = None) -> str | bytes | None:
        """Returns the next item, or None after the last one. Waits indefinitely by default, since streams may be idle.

        Raises:
            CallError: ``channel_closed`` if the writer disconnected early; ``call_timeout`` if no item arrived within
                ``timeout_s`` seconds (no item is lost, read again); ``call_cancelled`` if the call that this reader
                came with was cancelled; ``draining`` if the worker was shut down.
            RuntimeError: called on the worker's event loop (inside an async handler).
        """
        return run(self._ends.bridge.run(lambda: self._read_within(timeout_s)), "reader.read")

    def __iter__(self) -> Iterator[str | bytes]:
        while (item := self.read()) is not None:
            yield item

    async def __aiter__(self) -> AsyncIterator[str | bytes]:
        while (item := await self.read_async()) is not None:
            yield item

    # ---- the whole content

    async def read_all_async(self, max_bytes: int = DEFAULT_MAX_BYTES) -> bytes:
        """Returns everything up to the end as bytes. ``str`` items are encoded in UTF-8.

        Raises:
            CallError: as ``read``, and ``payload_too_large`` for more than ``max_bytes`` bytes; the rest is dropped.
        """
        return await self._ends.bridge.run(lambda: self._read_all(max_bytes))

    read_all = blocking(read_all_async)

    async def text_async(self, max_bytes: int = DEFAULT_MAX_BYTES) -> str:
        """As ``read_all``, decoded. Raises CallError ``invalid_input`` if it is not UTF-8."""
        try:
            return (await self.read_all_async(max_bytes)).decode("utf-8")
        except UnicodeDecodeError as cause:
            raise CallError("invalid_input", f"the channel's content is not UTF-8: {cause}") from None

    text = blocking(text_async)

    async def json_async(self, max_bytes: int = DEFAULT_MAX_BYTES) -> Any:
        """As ``read_all``, parsed as JSON. Raises CallError ``invalid_json`` if it is not JSON."""
        text = await self.text_async(max_bytes)
        try:
            return decode_json(text)
        except NotJson as cause:
            raise CallError("invalid_json", f"the channel's content is not JSON: {cause}") from None

    json = blocking(json_async)

    # ---- the end

    def cancel(self) -> None:
        """Stops reading: the writer is notified, and pending reads fail. Returns immediately."""
        self._ends.leave(self, "it was cancelled")

    def __enter__(self) -> ChannelReader:
        return self

    def __exit__(self, *_: object) -> None:
        self.cancel()

    async def __aenter__(self) -> ChannelReader:
        return self

    async def __aexit__(self, *_: object) -> None:
        self.cancel()

    # ---- on the worker's loop

    async def _read(self) -> str | bytes | None:
        end = self.on_loop()
        async with end.lock:
            return await end.receive()

    async def _read_within(self, timeout_s: float | None) -> str | bytes | None:
        try:
            return await asyncio.wait_for(self._read(), timeout_s)
        except asyncio.TimeoutError:
            raise CallError("call_timeout", f"no item arrived over the channel within {timeout_s:g} s") from None

    async def _read_all(self, max_bytes: int) -> bytes:
        end = self.on_loop()
        whole = bytearray()
        async with end.lock:
            while (item := await end.receive()) is not None:
                whole += item.encode() if isinstance(item, str) else item
                if len(whole) > max_bytes:
                    end.drop("channel_closed", "the content exceeds the reader's limit")
                    message = f"over {max_bytes} bytes arrived over the channel; raise max_bytes, or read item by item"
                    raise CallError("payload_too_large", message, {"limit_bytes": max_bytes})
        return bytes(whole)
