"""JSON lines over channels, in chunks of any size."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from typing import Any

from .codec import encode_json, with_escaped_surrogates
from .errors import CallError
from .protocol import MAX_FRAME_BYTES

#: A mapping or a line of JSON.
Record = Mapping[str, Any] | str
#: Minimum size of a written piece, except the last one.
PIECE_BYTES = 65_536
# A line is a value that fits a frame, and a few small members.
_MAX_LINE_BYTES = 2 * MAX_FRAME_BYTES


class Lines:
    """Splits chunks into lines, skipping empty ones."""

    def __init__(self) -> None:
        self._rest = bytearray()

    def feed(self, item: str | bytes) -> Iterator[str]:
        """Yields the lines that this chunk completes. CallError ``payload_too_large`` for a line over 32 MiB."""
        chunk = item.encode("utf-8") if isinstance(item, str) else item
        self._rest += chunk
        whole: list[bytearray] = []
        # A long line arrives in many chunks. Only the last one is searched for line feeds.
        if b"\n" in chunk:
            *whole, self._rest = self._rest.split(b"\n")
        if len(self._rest) > _MAX_LINE_BYTES:
            details = {"limit_bytes": _MAX_LINE_BYTES}
            raise CallError("payload_too_large", f"a line exceeds {_MAX_LINE_BYTES} bytes", details)
        for line in whole:
            yield from _text_of(line)

    def end(self) -> Iterator[str]:
        """Yields the last line if it has no line feed."""
        yield from _text_of(self._rest)


async def lines_of(items: AsyncIterator[str | bytes]) -> AsyncIterator[str]:
    lines = Lines()
    async for item in items:
        for line in lines.feed(item):
            yield line
    for line in lines.end():
        yield line


class Pieces:
    """Joins lines into pieces of an efficient size."""

    def __init__(self) -> None:
        self._waiting = bytearray()

    def add(self, record: Record) -> bytes | None:
        """Returns a piece to write, or None while it is too small."""
        self._waiting += _line_of(record)
        return self.rest() if len(self._waiting) >= PIECE_BYTES else None

    def rest(self) -> bytes:
        piece, self._waiting = bytes(self._waiting), bytearray()
        return piece


def pieces_of(records: Iterable[Record]) -> Iterator[bytes]:
    pieces = Pieces()
    for record in records:
        piece = pieces.add(record)
        if piece is not None:
            yield piece
    yield pieces.rest()


def _text_of(line: bytes | bytearray) -> Iterator[str]:
    text = line.decode("utf-8").rstrip("\r")
    if text != "":
        yield text


def _line_of(record: Record) -> bytes:
    text = record.rstrip("\r\n") if isinstance(record, str) else encode_json(record, "a record", code="invalid_input")
    return (with_escaped_surrogates(text) + "\n").encode("utf-8")
