"""``worker.stream``: items that clients watch live, stored by the engine's module ``svc-stream``."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Any, cast

from .blocking import blocking, blocking_iterator
from .call_client import ModuleClient, all_pages
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


class Stream(ModuleClient):
    """Every method has an ``_async`` form, for async handlers and other event loops.

    A stream has groups, a group has items by id. Each write is sent to the clients that joined the group or the item.

    All raise CallError as ``worker.call`` does: ``function_not_found`` if the engine does not run ``svc-stream``,
    ``state_conflict`` if ``if_version`` does not match, ``payload_too_large``, ``storage_failed``.
    """

    _name = "worker.stream"

    # ---- one item

    async def get_async(self, stream_name: str, group_id: str, item_id: str) -> Any:
        """Returns the item's data, or None if there is no such item."""
        return await self._call("stream::get", stream_name=stream_name, group_id=group_id, item_id=item_id)

    get = blocking(get_async)

    async def get_entry_async(self, stream_name: str, group_id: str, item_id: str) -> StreamEntry | None:
        """Returns the item with its version, time and size, or None if there is no such item."""
        entry = await self._call("stream::get_entry", stream_name=stream_name, group_id=group_id, item_id=item_id)
        return cast("StreamEntry | None", entry)

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
        """Writes an item and sends the event ``create`` if it is new, else ``update``."""
        result = await self._call(
            "stream::set",
            {"data": data},
            stream_name=stream_name,
            group_id=group_id,
            item_id=item_id,
            if_version=if_version,
            expires_in_ms=expires_in_ms,
        )
        return cast(StreamSetResult, result)

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
        """Applies operations to an item in the engine, as ``worker.state.update`` does, and sends an event."""
        result = await self._call(
            "stream::update",
            stream_name=stream_name,
            group_id=group_id,
            item_id=item_id,
            ops=[*ops],
            atomic=atomic,
            if_version=if_version,
            expires_in_ms=expires_in_ms,
        )
        return cast(StreamUpdateResult, result)

    update = blocking(update_async)

    async def delete_async(
        self, stream_name: str, group_id: str, item_id: str, *, if_version: int | None = None
    ) -> StreamDeleteResult:
        """Deletes an item and sends an event if the item existed."""
        result = await self._call(
            "stream::delete", stream_name=stream_name, group_id=group_id, item_id=item_id, if_version=if_version
        )
        return cast(StreamDeleteResult, result)

    delete = blocking(delete_async)

    # ---- events that are not stored

    async def send_async(
        self, stream_name: str, group_id: str, type: str, data: Any = None, *, id: str | None = None
    ) -> None:
        """Sends a custom event to the clients that joined the group (with ``id``: that item). Nothing is stored."""
        await self._call("stream::send", {"data": data}, stream_name=stream_name, group_id=group_id, type=type, id=id)

    send = blocking(send_async)

    # ---- listings

    async def list_async(self, stream_name: str, group_id: str) -> _Values:
        """Returns the data of all items of a group, in the order of their ids. For large groups use ``entries``."""
        return cast(_Values, await self._call("stream::list", stream_name=stream_name, group_id=group_id))

    list = blocking(list_async)

    def entries_async(
        self, stream_name: str, group_id: str, *, prefix: str | None = None, page_size: int | None = None
    ) -> AsyncIterator[StreamEntry]:
        """Yields all items of a group in the order of their ids, fetched page by page. ``prefix``: of the ids."""
        return all_pages(
            lambda cursor: self.entries_page_async(stream_name, group_id, prefix=prefix, cursor=cursor, limit=page_size)
        )

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
        """Returns one page of ``entries``. ``cursor``: from the previous page."""
        page = await self._call(
            "stream::entries", stream_name=stream_name, group_id=group_id, prefix=prefix, cursor=cursor, limit=limit
        )
        return cast(StreamPage, page)

    entries_page = blocking(entries_page_async)

    async def list_groups_async(self, stream_name: str) -> _Names:
        """Returns the ids of a stream's groups that contain items."""
        return cast(_Names, await self._call("stream::list_groups", stream_name=stream_name))

    list_groups = blocking(list_groups_async)

    async def list_all_async(self) -> StreamListing:
        """Returns every stream that contains items, with its groups."""
        return cast(StreamListing, await self._call("stream::list_all"))

    list_all = blocking(list_all_async)
