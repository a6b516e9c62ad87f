"""``worker.state``: durable items by scope and key, kept by the engine's module ``svc-state``."""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator, Iterable, Mapping, Sequence
from typing import Any, cast

from . import state_requests as requests
from .blocking import Helper, blocking, blocking_iterator, run
from .ndjson import Record
from .state_requests import OnExisting
from .state_transfer import IMPORT_TIMEOUT_MS, export_lines, import_records, record_of
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


class State(Helper):
    """Every method has an ``_async`` form, for async handlers and other event loops.

    Scopes and keys are any text of 1 to 1,024 bytes. Values are whatever JSON can hold, None included; whole numbers
    keep all their digits.
    ``if_version`` writes only where the item has that version, 0 where there is none. ``expires_in_ms``: milliseconds
    from 1, after which the item is deleted; without it the item stays.

    All raise CallError as ``worker.call`` does: ``function_not_found`` where the engine does not run ``svc-state``,
    ``state_conflict`` where ``if_version`` does not hold (``details`` has ``expected`` and ``actual``),
    ``payload_too_large``, ``storage_failed``.
    """

    _name = "state"

    # ---- one item

    async def get_async(self, scope: str, key: str) -> Any:
        """The value; None when there is no such item. ``get_entry`` tells that apart from the value None."""
        return await self._calls.call(requests.get(scope, key))

    get = blocking(get_async)

    async def get_entry_async(self, scope: str, key: str) -> StateEntry | None:
        """The item with its version, time and size; None when there is none."""
        return cast("StateEntry | None", await self._calls.call(requests.get_entry(scope, key)))

    get_entry = blocking(get_entry_async)

    async def set_async(
        self, scope: str, key: str, value: Any, *, if_version: int | None = None, expires_in_ms: int | None = None
    ) -> StateSetResult:
        """Writes an item. Writing the value that is there already changes nothing, the version included."""
        request = requests.set_(scope, key, value, if_version, expires_in_ms)
        return cast(StateSetResult, await self._calls.call(request))

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
        """Carries out operations on an item in the engine; a missing one begins as ``{}``.

        Where one cannot be done, ``errors`` says which and nothing is written; ``atomic=False`` does the others.
        """
        request = requests.update(scope, key, ops, atomic, if_version, expires_in_ms)
        return cast(StateUpdateResult, await self._calls.call(request))

    update = blocking(update_async)

    async def delete_async(self, scope: str, key: str, *, if_version: int | None = None) -> Any:
        """Deletes an item and returns its value; None when there was none."""
        return await self._calls.call(requests.delete(scope, key, if_version))

    delete = blocking(delete_async)

    # ---- several items

    async def get_many_async(self, scope: str, keys: Iterable[str]) -> list[StateEntry | None]:
        """Entries of 1 to 1,000 keys, in their order; None for those that are not there."""
        answer = await self._calls.call(requests.get_many(scope, keys))
        return cast("list[StateEntry | None]", answer["items"])

    get_many = blocking(get_many_async)

    async def set_many_async(self, items: Iterable[StateWrite | Mapping[str, Any]]) -> StateSetManyResult:
        """Writes 1 to 1,000 items of any scopes, all or none."""
        return cast(StateSetManyResult, await self._calls.call(requests.set_many(items)))

    set_many = blocking(set_many_async)

    async def delete_many_async(
        self, scope: str, *, keys: Iterable[str] | None = None, prefix: str | None = None
    ) -> StateDeleteManyResult:
        """Deletes 1 to 1,000 keys, or all with the prefix (``""``: the whole scope), and counts those that were."""
        request = requests.delete_many(scope, keys, prefix)
        return cast(StateDeleteManyResult, await self._calls.call(request))

    delete_many = blocking(delete_many_async)

    # ---- listings

    async def list_async(self, scope: str) -> _Values:
        """All values of a scope, in the order of their keys. For large scopes use ``entries``."""
        return cast(_Values, await self._calls.call(requests.list_(scope)))

    list = blocking(list_async)

    async def entries_async(
        self, scope: str, *, prefix: str | None = None, page_size: int | None = None
    ) -> AsyncIterator[StateEntry]:
        """All items of a scope in the order of their keys, fetched page by page.

        What exists throughout comes exactly once, whatever is written meanwhile.
        """
        cursor: str | None = None
        while True:
            page = await self.entries_page_async(scope, prefix=prefix, cursor=cursor, limit=page_size)
            for entry in page["items"]:
                yield entry
            cursor = page["cursor"]
            if cursor is None:
                return

    entries = blocking_iterator(entries_async)

    async def entries_page_async(
        self, scope: str, *, prefix: str | None = None, cursor: str | None = None, limit: int | None = None
    ) -> StatePage:
        """One page of ``entries``; ``cursor`` is the one of the page before."""
        return cast(StatePage, await self._calls.call(requests.entries(scope, prefix, cursor, limit)))

    entries_page = blocking(entries_page_async)

    async def list_groups_async(self) -> _Names:
        """Names of all scopes that hold items, in order."""
        return cast(_Names, (await self._calls.call(requests.list_groups()))["groups"])

    list_groups = blocking(list_groups_async)

    async def groups_async(
        self, *, prefix: str | None = None, page_size: int | None = None
    ) -> AsyncIterator[StateGroup]:
        """All scopes whose names begin with the prefix, with the number of their items and their size."""
        cursor: str | None = None
        while True:
            page = await self.groups_page_async(prefix=prefix, cursor=cursor, limit=page_size)
            for group in page["items"]:
                yield group
            cursor = page["cursor"]
            if cursor is None:
                return

    groups = blocking_iterator(groups_async)

    async def groups_page_async(
        self, *, prefix: str | None = None, cursor: str | None = None, limit: int | None = None
    ) -> StateGroupsPage:
        """One page of ``groups``."""
        return cast(StateGroupsPage, await self._calls.call(requests.groups(prefix, cursor, limit)))

    groups_page = blocking(groups_page_async)

    # ---- all of it

    async def export_async(self, scope: str | None = None, prefix: str | None = None) -> AsyncIterator[StateRecord]:
        """All items, or those of a scope or of keys with a prefix, as they are read from the engine.

        Raises:
            CallError: ``channel_closed`` when the engine broke off: what came is not the whole.
        """
        async for line in export_lines(self._calls, scope, prefix):
            yield record_of(line)

    export = blocking_iterator(export_async)

    def export_lines_async(self, scope: str | None = None, prefix: str | None = None) -> AsyncIterator[str]:
        """As ``export``, each item as the JSON text that the engine wrote, without the line feed: for files."""
        return export_lines(self._calls, scope, prefix)

    export_lines = blocking_iterator(export_lines_async)

    async def import_async(
        self,
        records: Iterable[Record] | AsyncIterable[Record],
        *,
        on_existing: OnExisting = "overwrite",
        timeout_ms: int = IMPORT_TIMEOUT_MS,
    ) -> StateImportResult:
        """As ``import_``, for event loops; accepts async iterables too."""
        return await import_records(self._calls, records, on_existing, timeout_ms)

    def import_(
        self,
        records: Iterable[Record],
        *,
        on_existing: OnExisting = "overwrite",
        timeout_ms: int = IMPORT_TIMEOUT_MS,
    ) -> StateImportResult:
        """Writes items as ``export`` and ``export_lines`` hand them out; a file with one JSON object a line will do.

        ``timeout_ms``: until the last item is written; default one hour.

        Raises:
            CallError: as the engine refused it; its message names the line. What the iterable raises ends the import.
        """
        return run(import_records(self._calls.blocking("state.import_"), records, on_existing, timeout_ms))

    async def snapshot_async(self, name: str | None = None, *, timeout_ms: int | None = None) -> StateSnapshot:
        """Has the engine write a copy of all items into its folder ``snapshots``; nobody has to wait for that."""
        return cast(StateSnapshot, await self._calls.call(requests.snapshot(name, timeout_ms)))

    snapshot = blocking(snapshot_async)
