"""Export and import of state, over channels: as many items as there are, in little memory."""

from __future__ import annotations

import asyncio
import concurrent.futures
from collections.abc import AsyncIterable, AsyncIterator, Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Any, cast

from . import state_requests as requests
from .channel_reader import ChannelReader
from .channel_writer import ChannelWriter
from .codec import NotJson, decode_json
from .errors import CallError
from .helper_calls import HelperCalls
from .ndjson import Pieces, lines_of, lines_of_async, pieces_of
from .state_requests import OnExisting
from .state_types import StateImportResult, StateRecord

Record = Mapping[str, Any] | str
#: An import is answered when its last item is written.
IMPORT_TIMEOUT_MS = 3_600_000


def export_lines(calls: HelperCalls, scope: str | None, prefix: str | None, method: str) -> Iterator[str]:
    return lines_of(_reader(calls, calls.wait(requests.export(scope, prefix), method)))


async def export_lines_async(calls: HelperCalls, scope: str | None, prefix: str | None) -> AsyncIterator[str]:
    reader = _reader(calls, await calls.await_(requests.export(scope, prefix)))
    async for line in lines_of_async(reader):
        yield line


def record_of(line: str) -> StateRecord:
    """A line of an export, read. CallError ``invalid_json`` when it is none."""
    try:
        return cast(StateRecord, decode_json(line))
    except NotJson as cause:
        raise CallError("invalid_json", f"a line of the export cannot be read: {cause}") from None


def import_records(
    calls: HelperCalls, records: Iterable[Record], on_existing: OnExisting, timeout_ms: int
) -> StateImportResult:
    method = "state.import_"
    channel = calls.channel(method)
    begun = calls.begin(requests.import_(channel.reader, on_existing, timeout_ms), method)
    # Without a reader a write would wait for one; the call says why there is none.
    begun.answer.add_done_callback(lambda answer: _abort_after_failure(answer, channel.writer))
    try:
        for piece in pieces_of(records):
            channel.writer.write(piece)
        channel.writer.end()
    except BaseException as cause:
        channel.writer.abort()
        if _is_refused_write(cause):
            calls.finish(begun)
        else:
            calls.withdraw(begun)
        raise
    return cast(StateImportResult, calls.finish(begun))


async def import_records_async(
    calls: HelperCalls, records: Iterable[Record] | AsyncIterable[Record], on_existing: OnExisting, timeout_ms: int
) -> StateImportResult:
    channel = await calls.channel_async()
    importing = asyncio.ensure_future(calls.await_(requests.import_(channel.reader, on_existing, timeout_ms)))
    importing.add_done_callback(lambda answer: _abort_after_failure(answer, channel.writer))
    try:
        await _write_all(channel.writer, records)
    except BaseException as cause:
        channel.writer.abort()
        if _is_refused_write(cause):
            await importing
        importing.cancel()
        with suppress(asyncio.CancelledError, CallError):
            await importing
        raise
    return cast(StateImportResult, await importing)


async def _write_all(writer: ChannelWriter, records: Iterable[Record] | AsyncIterable[Record]) -> None:
    if isinstance(records, AsyncIterable):
        pieces = Pieces()
        async for record in records:
            piece = pieces.add(record)
            if piece is not None:
                await writer.write_async(piece)
        await writer.write_async(pieces.rest())
    else:
        for piece in pieces_of(records):
            await writer.write_async(piece)
    await writer.end_async()


def _abort_after_failure(answer: concurrent.futures.Future[Any] | asyncio.Future[Any], writer: ChannelWriter) -> None:
    if answer.cancelled() or answer.exception() is not None:
        writer.abort()


def _is_refused_write(cause: BaseException) -> bool:
    """The reader went away; its function says why."""
    return isinstance(cause, CallError) and cause.code == "channel_closed"


def _reader(calls: HelperCalls, answer: Any) -> ChannelReader:
    return calls.reader(answer.get("lines") if isinstance(answer, dict) else None)
