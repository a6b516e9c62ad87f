"""How helpers such as ``worker.state`` call the engine's functions."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from typing import Any

from .calling import Begun, Calling
from .channel_ends import ChannelEnds
from .channel_reader import ChannelReader
from .channel_writer import ChannelWriter
from .channels import Channel, channel_of, creation_of
from .context import current_context
from .outgoing import Outgoing
from .requests import CallRequest, outgoing_of


def request_of(function_id: str, /, **members: object) -> CallRequest:
    """A call whose payload has these members, less those that are None."""
    return {
        "function_id": function_id,
        "payload": {name: value for name, value in members.items() if value is not None},
    }


class HelperCalls:
    """Within handlers the calls carry the trace on, as ``worker.call`` does.

    With ``method``, e.g. ``state.get``, its coroutines block the thread instead of suspending. They are refused by that
    name on the worker's loop.
    """

    def __init__(
        self, calling: Calling, ends: ChannelEnds, default_timeout_ms: int | None, method: str | None = None
    ) -> None:
        self._calling = calling
        self._ends = ends
        self._default_timeout_ms = default_timeout_ms
        self._method = method

    def blocking(self, method: str) -> HelperCalls:
        return HelperCalls(self._calling, self._ends, self._default_timeout_ms, method)

    async def call(self, request: Mapping[str, Any]) -> Any:
        outgoing = self._outgoing(request)
        if self._method is not None:
            return self._calling.wait(outgoing, self._method)
        return await self._calling.await_(outgoing)

    def begin(self, request: Mapping[str, Any]) -> Begun:
        """Calls without waiting; ``finish`` does that."""
        return self._calling.begin(self._outgoing(request), self._method)

    async def finish(self, begun: Begun) -> Any:
        if self._method is not None:
            return self._calling.finish(begun)
        return await self._calling.finish_async(begun)

    def withdraw(self, begun: Begun) -> None:
        self._calling.withdraw(begun)

    async def channel(self) -> Channel:
        return channel_of(await self.call(creation_of(None)), self._ends)

    def reader(self, ref: object) -> ChannelReader:
        return self._ends.reader(ref)

    async def items(self, reader: ChannelReader) -> AsyncIterator[str | bytes]:
        while (item := await self._item(reader)) is not None:
            yield item

    async def _item(self, reader: ChannelReader) -> str | bytes | None:
        return await reader.read_async() if self._method is None else reader.read()

    async def write(self, writer: ChannelWriter, chunk: bytes) -> None:
        if self._method is None:
            await writer.write_async(chunk)
        else:
            writer.write(chunk)

    async def end(self, writer: ChannelWriter) -> None:
        if self._method is None:
            await writer.end_async()
        else:
            writer.end()

    def _outgoing(self, request: Mapping[str, Any]) -> Outgoing:
        return outgoing_of(request, "call", current_context.get(), self._default_timeout_ms)
