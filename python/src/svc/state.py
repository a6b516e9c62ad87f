"""``worker.state``: durable items by scope and key, stored by the engine's module ``svc-state``."""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator, Iterable, Mapping, Sequence
from typing import Any, cast

from .blocking import blocking, blocking_iterator, run
from .call_client import ModuleClient, all_pages
from .errors import CallError
from .ndjson import Record
from .requests import checked_item
from .state_transfer import IMPORT_TIMEOUT_MS, OnExisting, export_lines, import_records, record_of
from .state_types import (
    StateDeleteManyResult,
    StateEntry,
    StateGroup,
    StateGroupsPage,
    StateImportResult,
    StatePage,
    StateRecord,
    StateSetManyResult,
    StateSetResult,
    StateSnapshot,
    StateUpdateResult,
    StateWrite,
)
from .update_ops import UpdateOp

# Within the class `list` is a method.
_Names = list[str]
_Values = list[Any]


class State(ModuleClient):
    """Every method has an ``_async`` form, for async handlers and other event loops.

    Scopes and keys are strings of 1 to 1,024 bytes. Values are any JSON values, None included. Integers keep all their
    digits.
    ``if_version`` writes only if the item has that version; 0 means that there is no item. ``expires_in_ms``:
    milliseconds from 1, after which the item is deleted; without it the item does not expire.

    All raise CallError as ``worker.call`` does: ``function_not_found`` if the engine does not run ``svc-state``,
    ``state_conflict`` if ``if_version`` does not match (``details`` has ``expected`` and ``actual``),
    ``payload_too_large``, ``storage_failed``.
    """

    _name = "worker.state"

    # ---- one item

    async def get_async(self, scope: str, key: str) -> Any:
        """Returns the value, or None if there is no such item. ``get_entry`` distinguishes that from the value None."""
        return await self._call("state::get", scope=scope, key=key)

    get = blocking(get_async)

    async def get_entry_async(self, scope: str, key: str) -> StateEntry | None:
        """Returns the item with its version, time and size, or None if there is no such item."""
        return cast("StateEntry | None", await self._call("state::get_entry", scope=scope, key=key))

    get_entry = blocking(get_entry_async)

    async def set_async(
        self, scope: str, key: str, value: Any, *, if_version: int | None = None, expires_in_ms: int | None = None
    ) -> StateSetResult:
        """Writes an item. Writing its present value changes nothing, not even the version."""
        return cast(
            StateSetResult,
            await self._call(
                "state::set", {"value": value}, scope=scope, key=key, if_version=if_version, expires_in_ms=expires_in_ms
            ),
        )

    set = blocking(set_async)

    async def update_async(
        self,
        scope: str,
        key: str,
        ops: Sequence[UpdateOp],
        *,
        atomic: bool = True,
        if_version: int | None = None,
        expires_in_ms: int | None = None,
    ) -> StateUpdateResult:
        """Applies operations to an item in the engine. A missing item starts as ``{}``.

        If an operation fails, ``errors`` names it and nothing is written. ``atomic=False`` applies the others.
        """
        return cast(
            StateUpdateResult,
            await self._call(
                "state::update",
                scope=scope,
                key=key,
                ops=[*ops],
                atomic=atomic,
                if_version=if_version,
                expires_in_ms=expires_in_ms,
            ),
        )

    update = blocking(update_async)

    async def delete_async(self, scope: str, key: str, *, if_version: int | None = None) -> Any:
        """Deletes an item and returns its value, or None if there was no such item."""
        return await self._call("state::delete", scope=scope, key=key, if_version=if_version)

    delete = blocking(delete_async)

    # ---- several items

    async def get_many_async(self, scope: str, keys: Iterable[str]) -> list[StateEntry | None]:
        """Returns the entries of 1 to 1,000 keys, in their order; None for keys without an item."""
        result = await self._call("state::get_many", scope=scope, keys=_keys(keys))
        return cast("list[StateEntry | None]", result["items"])

    get_many = blocking(get_many_async)

    async def set_many_async(self, items: Iterable[StateWrite | Mapping[str, Any]]) -> StateSetManyResult:
        """Writes 1 to 1,000 items of any scopes, all or none."""
        return cast(StateSetManyResult, await self._call("state::set_many", items=[*map(_write, items)]))

    set_many = blocking(set_many_async)

    async def delete_many_async(
        self, scope: str, *, keys: Iterable[str] | None = None, prefix: str | None = None
    ) -> StateDeleteManyResult:
        """Deletes 1 to 1,000 keys, or all with the prefix (``""``: the whole scope). Returns how many existed."""
        if (keys is None) == (prefix is None):
            message = 'delete_many takes either keys or a prefix; prefix="" stands for the whole scope'
            raise CallError("invalid_input", message)
        listed = None if keys is None else _keys(keys)
        return cast(
            StateDeleteManyResult, await self._call("state::delete_many", scope=scope, keys=listed, prefix=prefix)
        )

    delete_many = blocking(delete_many_async)

    # ---- listings

    async def list_async(self, scope: str) -> _Values:
        """Returns all values of a scope, in the order of their keys. For large scopes use ``entries``."""
        return cast(_Values, await self._call("state::list", scope=scope))

    list = blocking(list_async)

    def entries_async(
        self, scope: str, *, prefix: str | None = None, page_size: int | None = None
    ) -> AsyncIterator[StateEntry]:
        """Yields all items of a scope in the order of their keys, fetched page by page.

        Items that exist throughout are yielded exactly once, even if others are written meanwhile.
        """
        return all_pages(lambda cursor: self.entries_page_async(scope, prefix=prefix, cursor=cursor, limit=page_size))

    entries = blocking_iterator(entries_async)

    async def entries_page_async(
        self, scope: str, *, prefix: str | None = None, cursor: str | None = None, limit: int | None = None
    ) -> StatePage:
        """Returns one page of ``entries``. ``cursor``: from the previous page."""
        return cast(
            StatePage, await self._call("state::entries", scope=scope, prefix=prefix, cursor=cursor, limit=limit)
        )

    entries_page = blocking(entries_page_async)

    async def list_groups_async(self) -> _Names:
        """Returns the names of all scopes that contain items, in order."""
        return cast(_Names, (await self._call("state::list_groups"))["groups"])

    list_groups = blocking(list_groups_async)

    def groups_async(self, *, prefix: str | None = None, page_size: int | None = None) -> AsyncIterator[StateGroup]:
        """Yields all scopes whose names begin with the prefix, with the number of their items and their size."""
        return all_pages(lambda cursor: self.groups_page_async(prefix=prefix, cursor=cursor, limit=page_size))

    groups = blocking_iterator(groups_async)

    async def groups_page_async(
        self, *, prefix: str | None = None, cursor: str | None = None, limit: int | None = None
    ) -> StateGroupsPage:
        """Returns one page of ``groups``."""
        return cast(StateGroupsPage, await self._call("state::groups", prefix=prefix, cursor=cursor, limit=limit))

    groups_page = blocking(groups_page_async)

    # ---- export, import and snapshots

    async def export_async(self, scope: str | None = None, prefix: str | None = None) -> AsyncIterator[StateRecord]:
        """Yields all items, or those of a scope or of keys with a prefix, as they arrive from the engine.

        Raises:
            CallError: ``channel_closed`` if the engine disconnected early: the export is incomplete.
        """
        async for line in export_lines(self._calls, scope, prefix):
            yield record_of(line)

    export = blocking_iterator(export_async)

    def export_lines_async(self, scope: str | None = None, prefix: str | None = None) -> AsyncIterator[str]:
        """As ``export``, each item as the engine's line of JSON, without the line feed. For files."""
        return export_lines(self._calls, scope, prefix)

    export_lines = blocking_iterator(export_lines_async)

    async def import_async(
        self,
        records: Iterable[Record] | AsyncIterable[Record],
        *,
        on_existing: OnExisting = "overwrite",
        timeout_ms: int = IMPORT_TIMEOUT_MS,
    ) -> StateImportResult:
        """As ``import_``, for event loops. Accepts async iterables too."""
        return await import_records(self._calls, records, on_existing, timeout_ms)

    def import_(
        self,
        records: Iterable[Record],
        *,
        on_existing: OnExisting = "overwrite",
        timeout_ms: int = IMPORT_TIMEOUT_MS,
    ) -> StateImportResult:
        """Writes items as ``export`` and ``export_lines`` yield them, e.g. a file with one JSON object per line.

        ``timeout_ms``: deadline for the whole import; default one hour.

        Raises:
            CallError: the engine's error; its message names the line. An exception of the iterable ends the import.
        """
        return run(self.import_async(records, on_existing=on_existing, timeout_ms=timeout_ms), "worker.state.import_")

    async def snapshot_async(self, name: str | None = None, *, timeout_ms: int | None = None) -> StateSnapshot:
        """Writes a copy of all items into the engine's folder ``snapshots``. Reads and writes continue meanwhile."""
        return cast(StateSnapshot, await self._call("state::snapshot", name=name, timeout_ms=timeout_ms))

    snapshot = blocking(snapshot_async)


_WRITE_MEMBERS = tuple(StateWrite.__annotations__)


def _write(item: StateWrite | Mapping[str, Any]) -> Mapping[str, Any]:
    return checked_item(item, "an item of set_many", _WRITE_MEMBERS)


def _keys(keys: Iterable[str]) -> list[str]:
    if isinstance(keys, str):
        raise CallError("invalid_input", "keys must be a list of keys, not one string")
    return list(keys)
