"""How helpers such as ``worker.state`` call the engine's functions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .calling import Begun, Calling
from .channel_ends import ChannelEnds
from .channel_reader import ChannelReader
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
    """Within handlers the calls carry the trace on, as ``worker.call`` does."""

    def __init__(self, calling: Calling, ends: ChannelEnds, default_timeout_ms: int | None) -> None:
        self._calling = calling
        self._ends = ends
        self._default_timeout_ms = default_timeout_ms

    def wait(self, request: Mapping[str, Any], method: str) -> Any:
        """``method`` is what the user called, e.g. ``state.get``: on the worker's loop it is refused by that name."""
        return self._calling.wait(self._outgoing(request), method)

    async def await_(self, request: Mapping[str, Any]) -> Any:
        return await self._calling.await_(self._outgoing(request))

    def begin(self, request: Mapping[str, Any], method: str) -> Begun:
        """Calls without waiting; ``finish`` does that."""
        return self._calling.begin(self._outgoing(request), method)

    def finish(self, begun: Begun) -> Any:
        return self._calling.finish(begun)

    def withdraw(self, begun: Begun) -> None:
        self._calling.withdraw(begun)

    def channel(self, method: str) -> Channel:
        return channel_of(self.wait(creation_of(None), method), self._ends)

    async def channel_async(self) -> Channel:
        return channel_of(await self.await_(creation_of(None)), self._ends)

    def reader(self, ref: object) -> ChannelReader:
        return self._ends.reader(ref)

    def _outgoing(self, request: Mapping[str, Any]) -> Outgoing:
        return outgoing_of(request, "call", current_context.get(), self._default_timeout_ms)
