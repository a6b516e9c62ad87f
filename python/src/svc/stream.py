"""``worker.stream``: items that clients watch live, kept by the engine's module ``svc-stream``."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Any, cast

from . import stream_requests as requests
from .blocking import Helper, blocking, blocking_iterator
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


class Stream(Helper):
    """Every method has an ``_async`` form, for async handlers and other event loops.

    A stream has groups, a group has items by id. Each write is told to those who joined the group or the item.

    All raise CallError as ``worker.call`` does: ``function_not_found`` where the engine does not run ``svc-stream``,
    ``state_conflict`` where ``if_version`` does not hold, ``payload_too_large``, ``storage_failed``.
    """

    _name = "stream"

    # ---- one item

    async def get_async(self, stream_name: str, group_id: str, item_id: str) -> Any:
        """The item's data; None when there is no such item."""
        return await self._calls.call(requests.get(stream_name, group_id, item_id))

    get = blocking(get_async)

    async def get_entry_async(self, stream_name: str, group_id: str, item_id: str) -> StreamEntry | None:
        """The item with its version, time and size; None when there is none."""
        request = requests.get_entry(stream_name, group_id, item_id)
        return cast("StreamEntry | None", await self._calls.call(request))

    get_entry = blocking(get_entry_async)

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
        """Writes an item and tells of it: ``create`` where there was none, else ``update``."""
        request = requests.set_(stream_name, group_id, item_id, data, if_version, expires_in_ms)
        return cast(StreamSetResult, await self._calls.call(request))

    set = blocking(set_async)

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
        """Carries out operations on an item in the engine, as ``worker.state.update`` does, and tells of it."""
        request = requests.update(stream_name, group_id, item_id, ops, atomic, if_version, expires_in_ms)
        return cast(StreamUpdateResult, await self._calls.call(request))

    update = blocking(update_async)

    async def delete_async(
        self, stream_name: str, group_id: str, item_id: str, *, if_version: int | None = None
    ) -> StreamDeleteResult:
        """Deletes an item and tells of it, if there was one."""
        request = requests.delete(stream_name, group_id, item_id, if_version)
        return cast(StreamDeleteResult, await self._calls.call(request))

    delete = blocking(delete_async)

    # ---- events that are not kept

    async def send_async(
        self, stream_name: str, group_id: str, type: str, data: Any = None, *, id: str | None = None
    ) -> None:
        """Tells those who joined the group (with ``id``: or that item) of an event of your own. Nothing is stored."""
        await self._calls.call(requests.send(stream_name, group_id, type, data, id))

    send = blocking(send_async)

    # ---- listings

    async def list_async(self, stream_name: str, group_id: str) -> _Values:
        """The data of all items of a group, in the order of their ids. For large groups use ``entries``."""
        return cast(_Values, await self._calls.call(requests.list_(stream_name, group_id)))

    list = blocking(list_async)

    async def entries_async(
        self, stream_name: str, group_id: str, *, prefix: str | None = None, page_size: int | None = None
    ) -> AsyncIterator[StreamEntry]:
        """All items of a group in the order of their ids, fetched page by page; ``prefix``: beginning of ids."""
        cursor: str | None = None
        while True:
            page = await self.entries_page_async(stream_name, group_id, prefix=prefix, cursor=cursor, limit=page_size)
            for entry in page["items"]:
                yield entry
            cursor = page["cursor"]
            if cursor is None:
                return

    entries = blocking_iterator(entries_async)

    async def entries_page_async(
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
        return cast(StreamPage, await self._calls.call(request))

    entries_page = blocking(entries_page_async)

    async def list_groups_async(self, stream_name: str) -> _Names:
        """Ids of a stream's groups that hold items."""
        return cast(_Names, await self._calls.call(requests.list_groups(stream_name)))

    list_groups = blocking(list_groups_async)

    async def list_all_async(self) -> StreamListing:
        """Every stream that holds items, with its groups."""
        return cast(StreamListing, await self._calls.call(requests.list_all()))

    list_all = blocking(list_all_async)
