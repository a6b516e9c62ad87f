"""``worker.stream``: items that clients watch live, kept by the engine's module ``svc-stream``."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Sequence
from typing import Any, cast

from . import stream_requests as requests
from .helper_calls import HelperCalls
from .stream_types import (
    StreamDeleteResult,
    StreamEntry,
    StreamListing,
    StreamPage,
    StreamSetResult,
    StreamUpdateResult,
)
from .update_ops import UpdateOp

# Within the class `list` is a method.
_Names = list[str]
_Values = list[Any]


class Stream:
    """Every method has an ``_async`` form, for async handlers and other event loops.

    A stream has groups, a group has items by id. Each write is told to those who joined the group or the item.

    All raise CallError as ``worker.call`` does: ``function_not_found`` where the engine does not run ``svc-stream``,
    ``state_conflict`` where ``if_version`` does not hold, ``payload_too_large``, ``storage_failed``.
    """

    def __init__(self, calls: HelperCalls) -> None:
        self._calls = calls

    # ---- one item

    def get(self, stream_name: str, group_id: str, item_id: str) -> Any:
        """The item's data; None when there is no such item."""
        return self._calls.wait(requests.get(stream_name, group_id, item_id), "stream.get")

    async def get_async(self, stream_name: str, group_id: str, item_id: str) -> Any:
        """As ``get``, for event loops."""
        return await self._calls.await_(requests.get(stream_name, group_id, item_id))

    def get_entry(self, stream_name: str, group_id: str, item_id: str) -> StreamEntry | None:
        """The item with its version, time and size; None when there is none."""
        request = requests.get_entry(stream_name, group_id, item_id)
        return cast("StreamEntry | None", self._calls.wait(request, "stream.get_entry"))

    async def get_entry_async(self, stream_name: str, group_id: str, item_id: str) -> StreamEntry | None:
        """As ``get_entry``, for event loops."""
        request = requests.get_entry(stream_name, group_id, item_id)
        return cast("StreamEntry | None", await self._calls.await_(request))

    def set(
        self,
        stream_name: str,
        group_id: str,
        item_id: str,
        data: Any,
        *,
        if_version: int | None = None,
        expires_in_ms: int | None = None,
    ) -> StreamSetResult:
        """Writes an item and tells of it: ``create`` where there was none, else ``update``."""
        request = requests.set_(stream_name, group_id, item_id, data, if_version, expires_in_ms)
        return cast(StreamSetResult, self._calls.wait(request, "stream.set"))

    async def set_async(
        self,
        stream_name: str,
        group_id: str,
        item_id: str,
        data: Any,
        *,
        if_version: int | None = None,
        expires_in_ms: int | None = None,
    ) -> StreamSetResult:
        """As ``set``, for event loops."""
        request = requests.set_(stream_name, group_id, item_id, data, if_version, expires_in_ms)
        return cast(StreamSetResult, await self._calls.await_(request))

    def update(
        self,
        stream_name: str,
        group_id: str,
        item_id: str,
        ops: Sequence[UpdateOp],
        *,
        atomic: bool = True,
        if_version: int | None = None,
        expires_in_ms: int | None = None,
    ) -> StreamUpdateResult:
        """Carries out operations on an item in the engine, as ``worker.state.update`` does, and tells of it."""
        request = requests.update(stream_name, group_id, item_id, ops, atomic, if_version, expires_in_ms)
        return cast(StreamUpdateResult, self._calls.wait(request, "stream.update"))

    async def update_async(
        self,
        stream_name: str,
        group_id: str,
        item_id: str,
        ops: Sequence[UpdateOp],
        *,
        atomic: bool = True,
        if_version: int | None = None,
        expires_in_ms: int | None = None,
    ) -> StreamUpdateResult:
        """As ``update``, for event loops."""
        request = requests.update(stream_name, group_id, item_id, ops, atomic, if_version, expires_in_ms)
        return cast(StreamUpdateResult, await self._calls.await_(request))

    def delete(
        self, stream_name: str, group_id: str, item_id: str, *, if_version: int | None = None
    ) -> StreamDeleteResult:
        """Deletes an item and tells of it, if there was one."""
        request = requests.delete(stream_name, group_id, item_id, if_version)
        return cast(StreamDeleteResult, self._calls.wait(request, "stream.delete"))

    async def delete_async(
        self, stream_name: str, group_id: str, item_id: str, *, if_version: int | None = None
    ) -> StreamDeleteResult:
        """As ``delete``, for event loops."""
        request = requests.delete(stream_name, group_id, item_id, if_version)
        return cast(StreamDeleteResult, await self._calls.await_(request))

    # ---- events that are not kept

    def send(self, stream_name: str, group_id: str, type: str, data: Any = None, *, id: str | None = None) -> None:
        """Tells those who joined the group (with ``id``: or that item) of an event of your own. Nothing is stored."""
        self._calls.wait(requests.send(stream_name, group_id, type, data, id), "stream.send")

    async def send_async(
        self, stream_name: str, group_id: str, type: str, data: Any = None, *, id: str | None = None
    ) -> None:
        """As ``send``, for event loops."""
        await self._calls.await_(requests.send(stream_name, group_id, type, data, id))

    # ---- listings

    def list(self, stream_name: str, group_id: str) -> _Values:
        """The data of all items of a group, in the order of their ids. For large groups use ``entries``."""
        return cast(_Values, self._calls.wait(requests.list_(stream_name, group_id), "stream.list"))

    async def list_async(self, stream_name: str, group_id: str) -> _Values:
        """As ``list``, for event loops."""
        return cast(_Values, await self._calls.await_(requests.list_(stream_name, group_id)))

    def entries(
        self, stream_name: str, group_id: str, *, prefix: str | None = None, page_size: int | None = None
    ) -> Iterator[StreamEntry]:
        """All items of a group in the order of their ids, fetched page by page; ``prefix``: beginning of ids."""
        cursor: str | None = None
        while True:
            page = self.entries_page(stream_name, group_id, prefix=prefix, cursor=cursor, limit=page_size)
            yield from page["items"]
            cursor = page["cursor"]
            if cursor is None:
                return

    async def entries_async(
        self, stream_name: str, group_id: str, *, prefix: str | None = None, page_size: int | None = None
    ) -> AsyncIterator[StreamEntry]:
        """As ``entries``, for ``async for``."""
        cursor: str | None = None
        while True:
            page = await self.entries_page_async(stream_name, group_id, prefix=prefix, cursor=cursor, limit=page_size)
            for entry in page["items"]:
                yield entry
            cursor = page["cursor"]
            if cursor is None:
                return

    def entries_page(
        self,
        stream_name: str,
        group_id: str,
        *,
        prefix: str | None = None,
        cursor: str | None = None,
        limit: int | None = None,
    ) -> StreamPage:
        """One page of ``entries``; ``cursor`` is the one of the page before."""
        request = requests.entries(stream_name, group_id, prefix, cursor, limit)
        return cast(StreamPage, self._calls.wait(request, "stream.entries_page"))

    async def entries_page_async(
        self,
        stream_name: str,
        group_id: str,
        *,
        prefix: str | None = None,
        cursor: str | None = None,
        limit: int | None = None,
    ) -> StreamPage:
        """As ``entries_page``, for event loops."""
        request = requests.entries(stream_name, group_id, prefix, cursor, limit)
        return cast(StreamPage, await self._calls.await_(request))

    def list_groups(self, stream_name: str) -> _Names:
        """Ids of a stream's groups that hold items."""
        return cast(_Names, self._calls.wait(requests.list_groups(stream_name), "stream.list_groups"))

    async def list_groups_async(self, stream_name: str) -> _Names:
        """As ``list_groups``, for event loops."""
        return cast(_Names, await self._calls.await_(requests.list_groups(stream_name)))

    def list_all(self) -> StreamListing:
        """Every stream that holds items, with its groups."""
        return cast(StreamListing, self._calls.wait(requests.list_all(), "stream.list_all"))

    async def list_all_async(self) -> StreamListing:
        """As ``list_all``, for event loops."""
        return cast(StreamListing, await self._calls.await_(requests.list_all()))
