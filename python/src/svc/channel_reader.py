"""The reading end of a channel, as users hold it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from typing import Any

from .channel_handle import ChannelHandle
from .codec import NotJson, decode_json
from .errors import CallError

#: What `read_all`, `text` and `json` take unless told otherwise.
DEFAULT_MAX_BYTES = 16 * 1024 * 1024


class ChannelReader(ChannelHandle):
    """The reading end of a channel: items in order, ``bytes`` or ``str`` as they were written.

    It connects at its first use, and takes items only as fast as they are read, so a slow reader slows its writer down.
    Iterate over it, with ``for`` in threads (sync handlers too) and ``async for`` in event loops. Passed in a payload
    *before it was used* it goes to another worker: an end can be taken once.

    Where the writer broke off, what is read raises CallError ``channel_closed``: what came is not the whole.

    Attributes:
        ref: What names this end in payloads.
    """

    __slots__ = ()

    # ---- items

    def read(self, timeout_s: float | None = None) -> str | bytes | None:
        """The next item; None behind the last. Waits without end unless told otherwise: streams may be idle.

        Raises:
            CallError: ``channel_closed`` when the writer broke off; ``call_timeout`` when nothing came within
                ``timeout_s`` seconds (nothing is lost, read again); ``call_cancelled`` when the call that this reader
                came with was cancelled; ``draining`` when the worker was shut down.
            RuntimeError: called on the worker's event loop (inside an async handler).
        """
        return self._ends.bridge.wait(lambda: self._read_within(timeout_s), "reader.read", "await reader.read_async()")

    async def read_async(self) -> str | bytes | None:
        """As ``read``, for event loops; cancelling it loses nothing."""
        return await self._ends.bridge.await_(self._read)

    def __iter__(self) -> Iterator[str | bytes]:
        while (item := self.read()) is not None:
            yield item

    async def __aiter__(self) -> AsyncIterator[str | bytes]:
        while (item := await self.read_async()) is not None:
            yield item

    # ---- all of it

    def read_all(self, max_bytes: int = DEFAULT_MAX_BYTES) -> bytes:
        """All that comes until the end, in one piece; texts in UTF-8.

        Raises:
            CallError: as ``read``, and ``payload_too_large`` with more than ``max_bytes`` bytes; the rest is refused.
        """
        return self._ends.bridge.wait(
            lambda: self._read_all(max_bytes), "reader.read_all", "await reader.read_all_async()"
        )

    async def read_all_async(self, max_bytes: int = DEFAULT_MAX_BYTES) -> bytes:
        """As ``read_all``, for event loops."""
        return await self._ends.bridge.await_(lambda: self._read_all(max_bytes))

    def text(self, max_bytes: int = DEFAULT_MAX_BYTES) -> str:
        """As ``read_all``, as text; CallError ``invalid_input`` when it is not UTF-8."""
        return _text_of(self.read_all(max_bytes))

    async def text_async(self, max_bytes: int = DEFAULT_MAX_BYTES) -> str:
        """As ``text``, for event loops."""
        return _text_of(await self.read_all_async(max_bytes))

    def json(self, max_bytes: int = DEFAULT_MAX_BYTES) -> Any:
        """As ``read_all``, read as JSON; CallError ``invalid_json`` when it is none."""
        return _json_of(self.text(max_bytes))

    async def json_async(self, max_bytes: int = DEFAULT_MAX_BYTES) -> Any:
        """As ``json``, for event loops."""
        return _json_of(await self.text_async(max_bytes))

    # ---- the end

    def cancel(self) -> None:
        """Wants no more: the writer is told so, and whoever still reads here fails. Returns at once."""
        self._ends.leave(self, "it was cancelled")

    def __enter__(self) -> ChannelReader:
        return self

    def __exit__(self, *_: object) -> None:
        self.cancel()

    async def __aenter__(self) -> ChannelReader:
        return self

    async def __aexit__(self, *_: object) -> None:
        self.cancel()

    # ---- on the loop

    async def _read(self) -> str | bytes | None:
        end = self.on_loop()
        async with end.lock:
            return await end.receive()

    async def _read_within(self, timeout_s: float | None) -> str | bytes | None:
        try:
            return await asyncio.wait_for(self._read(), timeout_s)
        except asyncio.TimeoutError:
            raise CallError("call_timeout", f"nothing came over the channel within {timeout_s:g} s") from None

    async def _read_all(self, max_bytes: int) -> bytes:
        end = self.on_loop()
        whole = bytearray()
        async with end.lock:
            while (item := await end.receive()) is not None:
                whole += item.encode() if isinstance(item, str) else item
                if len(whole) > max_bytes:
                    end.drop("channel_closed", "more came than was wanted")
                    message = f"over {max_bytes} bytes came over the channel; raise max_bytes, or read item by item"
                    raise CallError("payload_too_large", message, {"limit_bytes": max_bytes})
        return bytes(whole)


def _text_of(whole: bytes) -> str:
    try:
        return whole.decode("utf-8")
    except UnicodeDecodeError as cause:
        raise CallError("invalid_input", f"what came over the channel is not UTF-8: {cause}") from None


def _json_of(text: str) -> Any:
    try:
        return decode_json(text)
    except NotJson as cause:
        raise CallError("invalid_json", f"what came over the channel is not JSON: {cause}") from None
