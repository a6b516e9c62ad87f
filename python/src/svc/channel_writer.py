"""The writing end of a channel, as users hold it."""

from __future__ import annotations

from .channel_handle import ChannelHandle
from .errors import CallError
from .protocol import MAX_FRAME_BYTES

#: Bytes of one binary item; more is written as several.
CHUNK_BYTES = 65_536

Chunk = bytes | bytearray | memoryview


class ChannelWriter(ChannelHandle):
    """The writing end of a channel. Each write waits until there is room for the next, so a slow reader slows it down.

    It connects at its first use. Use it as a context manager, ``with`` in threads (sync handlers too), ``async with``
    in event loops: it is ended behind the block, and aborted when the block raises. Passed in a payload *before it was
    used* it goes to another worker: an end can be taken once.

    All writes raise CallError: ``channel_closed`` when the reader is gone or takes nothing for 5 minutes,
    ``call_cancelled`` when the call that this writer came with was cancelled, ``draining`` when the worker was shut
    down. A write that is cancelled may have been written in part.

    Attributes:
        ref: What names this end in payloads.
    """

    __slots__ = ()

    def write(self, chunk: Chunk) -> None:
        """Writes bytes, as binary items of 65,536 bytes at most. An empty chunk is an empty item."""
        view = _bytes_of(chunk)
        self._ends.bridge.wait(lambda: self._write(view), "writer.write", "await writer.write_async(...)")

    async def write_async(self, chunk: Chunk) -> None:
        """As ``write``, for event loops."""
        view = _bytes_of(chunk)
        await self._ends.bridge.await_(lambda: self._write(view))

    def send(self, text: str) -> None:
        """Writes a text as one item, 16 MiB of UTF-8 at most."""
        checked = _text_of(text)
        self._ends.bridge.wait(lambda: self._send(checked), "writer.send", "await writer.send_async(...)")

    async def send_async(self, text: str) -> None:
        """As ``send``, for event loops."""
        checked = _text_of(text)
        await self._ends.bridge.await_(lambda: self._send(checked))

    def end(self) -> None:
        """Says that nothing more comes; returns when the engine has taken everything. A second time does nothing."""
        self._ends.bridge.wait(self._finish, "writer.end", "await writer.end_async()")

    async def end_async(self) -> None:
        """As ``end``, for event loops."""
        await self._ends.bridge.await_(self._finish)

    def abort(self) -> None:
        """Breaks off: the reader is told that what it got is not the whole. Returns at once."""
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

    # ---- on the loop

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


def _bytes_of(chunk: Chunk) -> memoryview:
    if not isinstance(chunk, (bytes, bytearray, memoryview)):
        raise TypeError(f"write takes bytes, not {type(chunk).__name__}; send(...) takes texts")
    return memoryview(chunk).cast("B")


def _text_of(text: str) -> str:
    if not isinstance(text, str):
        raise TypeError(f"send takes a str, not {type(text).__name__}; write(...) takes bytes")
    try:
        size = len(text) if text.isascii() else len(text.encode("utf-8"))
    except UnicodeEncodeError:
        raise CallError(
            "invalid_input", "a text with half of a surrogate pair has no UTF-8 and cannot be sent"
        ) from None
    if size > MAX_FRAME_BYTES:
        message = f"the text has {size} bytes, an item may have {MAX_FRAME_BYTES}; send it in parts"
        raise CallError("payload_too_large", message, {"bytes": size, "limit_bytes": MAX_FRAME_BYTES})
    return text
