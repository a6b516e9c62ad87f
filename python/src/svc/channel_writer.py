"""The writing end of a channel, as users see it."""

from __future__ import annotations

from typing import ClassVar

from .blocking import blocking
from .channel_handle import ChannelHandle
from .errors import CallError
from .protocol import MAX_FRAME_BYTES

#: Maximum size of one binary item. More bytes are written as several items.
CHUNK_BYTES = 65_536

Chunk = bytes | bytearray | memoryview


class ChannelWriter(ChannelHandle):
    """The writing end of a channel. Each write waits until there is room for the next, so a slow reader slows it down.

    It connects at its first use. Use it as a context manager, ``with`` in threads (sync handlers too), ``async with``
    in event loops: the channel ends after the block, and is aborted if the block raises. If it is passed in a payload
    *before its first use*, the receiver can write to it instead: an end can be used by one worker only.

    All writes raise CallError: ``channel_closed`` if the reader disconnected or receives nothing for 5 minutes,
    ``call_cancelled`` if the call that this writer came with was cancelled, ``draining`` if the worker was shut down.
    A cancelled write may be partial.

    Methods without ``_async`` block the thread. They raise RuntimeError inside an async handler.

    Attributes:
        ref: Names this end in payloads.
    """

    __slots__ = ()
    _name: ClassVar[str] = "writer"

    async def write_async(self, chunk: Chunk) -> None:
        """Writes bytes, as binary items of at most 65,536 bytes. An empty chunk is an empty item."""
        if not isinstance(chunk, (bytes, bytearray, memoryview)):
            raise TypeError(f"write takes bytes, not {type(chunk).__name__}; send(...) takes texts")
        view = memoryview(chunk).cast("B")
        await self._ends.bridge.run(lambda: self._write(view))

    write = blocking(write_async)

    async def send_async(self, text: str) -> None:
        """Writes a string as one item, at most 16 MiB in UTF-8."""
        self._check_text(text)
        await self._ends.bridge.run(lambda: self._send(text))

    send = blocking(send_async)

    async def end_async(self) -> None:
        """Ends the channel. Returns when the engine has received everything. Does nothing the second time."""
        await self._ends.bridge.run(self._finish)

    end = blocking(end_async)

    def abort(self) -> None:
        """Ends the channel early: the reader is notified that its data is incomplete. Returns immediately."""
        self._ends.leave(self, "it was aborted")

    def __enter__(self) -> ChannelWriter:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is None:
            self.end()
        else:
            self.abort()

    async def __aenter__(self) -> ChannelWriter:
        return self

    async def __aexit__(self, kind: object, *_: object) -> None:
        if kind is None:
            await self.end_async()
        else:
            self.abort()

    def _check_text(self, text: str) -> None:
        check_text(text)

    # ---- on the worker's loop

    async def _write(self, view: memoryview) -> None:
        end = self.on_loop()
        async with end.lock:
            for at in range(0, len(view) or 1, CHUNK_BYTES):
                await end.send(view[at : at + CHUNK_BYTES])

    async def _send(self, text: str) -> None:
        end = self.on_loop()
        async with end.lock:
            await end.send(text)

    async def _finish(self) -> None:
        end = self.on_loop()
        async with end.lock:
            await end.finish()


def check_text(text: str) -> None:
    """Raises TypeError or CallError if the text cannot be an item."""
    if not isinstance(text, str):
        raise TypeError(f"send takes a str, not {type(text).__name__}; write(...) takes bytes")
    try:
        size = len(text) if text.isascii() else len(text.encode("utf-8"))
    except UnicodeEncodeError:
        raise CallError("invalid_input", "a string with half of a surrogate pair cannot be encoded in UTF-8") from None
    if size > MAX_FRAME_BYTES:
        message = f"the string has {size} bytes, an item has at most {MAX_FRAME_BYTES}; send it in parts"
        raise CallError("payload_too_large", message, {"bytes": size, "limit_bytes": MAX_FRAME_BYTES})
