"""``worker.state``: durable items by scope and key, kept by the engine's module ``svc-state``."""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator, Iterable, Iterator, Mapping, Sequence
from typing import Any, cast

from . import state_requests as requests
from .helper_calls import HelperCalls
from .state_requests import OnExisting
from .state_transfer import (
    IMPORT_TIMEOUT_MS,
    export_lines,
    export_lines_async,
    import_records,
    import_records_async,
    record_of,
)
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


class State:
    """Every method has an ``_async`` form, for async handlers and other event loops.

    Scopes and keys are any text of 1 to 1,024 bytes. Values are whatever JSON can hold, None included; whole numbers
    keep all their digits.
    ``if_version`` writes only where the item has that version, 0 where there is none. ``expires_in_ms``: milliseconds
    from 1, after which the item is deleted; without it the item stays.

    All raise CallError as ``worker.call`` does: ``function_not_found`` where the engine does not run ``svc-state``,
    ``state_conflict`` where ``if_version`` does not hold (``details`` has ``expected`` and ``actual``),
    ``payload_too_large``, ``storage_failed``.
    """

    def __init__(self, calls: HelperCalls) -> None:
        self._calls = calls

    # ---- one item

    def get(self, scope: str, key: str) -> Any:
        """The value; None when there is no such item. ``get_entry`` tells that apart from the value None."""
        return self._calls.wait(requests.get(scope, key), "state.get")

    async def get_async(self, scope: str, key: str) -> Any:
        """As ``get``, for event loops."""
        return await self._calls.await_(requests.get(scope, key))

    def get_entry(self, scope: str, key: str) -> StateEntry | None:
        """The item with its version, time and size; None when there is none."""
        return cast("StateEntry | None", self._calls.wait(requests.get_entry(scope, key), "state.get_entry"))

    async def get_entry_async(self, scope: str, key: str) -> StateEntry | None:
        """As ``get_entry``, for event loops."""
        return cast("StateEntry | None", await self._calls.await_(requests.get_entry(scope, key)))

    def set(
        self, scope: str, key: str, value: Any, *, if_version: int | None = None, expires_in_ms: int | None = None
    ) -> StateSetResult:
        """Writes an item. Writing the value that is there already changes nothing, the version included."""
        request = requests.set_(scope, key, value, if_version, expires_in_ms)
        return cast(StateSetResult, self._calls.wait(request, "state.set"))

    async def set_async(
        self, scope: str, key: str, value: Any, *, if_version: int | None = None, expires_in_ms: int | None = None
    ) -> StateSetResult:
        """As ``set``, for event loops."""
        request = requests.set_(scope, key, value, if_version, expires_in_ms)
        return cast(StateSetResult, await self._calls.await_(request))

    def update(
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
        return cast(StateUpdateResult, self._calls.wait(request, "state.update"))

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
        """As ``update``, for event loops."""
        request = requests.update(scope, key, ops, atomic, if_version, expires_in_ms)
        return cast(StateUpdateResult, await self._calls.await_(request))

    def delete(self, scope: str, key: str, *, if_version: int | None = None) -> Any:
        """Deletes an item and returns its value; None when there was none."""
        return self._calls.wait(requests.delete(scope, key, if_version), "state.delete")

    async def delete_async(self, scope: str, key: str, *, if_version: int | None = None) -> Any:
        """As ``delete``, for event loops."""
        return await self._calls.await_(requests.delete(scope, key, if_version))

    # ---- several items

    def get_many(self, scope: str, keys: Iterable[str]) -> list[StateEntry | None]:
        """Entries of 1 to 1,000 keys, in their order; None for those that are not there."""
        answer = self._calls.wait(requests.get_many(scope, keys), "state.get_many")
        return cast("list[StateEntry | None]", answer["items"])

    async def get_many_async(self, scope: str, keys: Iterable[str]) -> list[StateEntry | None]:
        """As ``get_many``, for event loops."""
        answer = await self._calls.await_(requests.get_many(scope, keys))
        return cast("list[StateEntry | None]", answer["items"])

    def set_many(self, items: Iterable[StateWrite | Mapping[str, Any]]) -> StateSetManyResult:
        """Writes 1 to 1,000 items of any scopes, all or none."""
        return cast(StateSetManyResult, self._calls.wait(requests.set_many(items), "state.set_many"))

    async def set_many_async(self, items: Iterable[StateWrite | Mapping[str, Any]]) -> StateSetManyResult:
        """As ``set_many``, for event loops."""
        return cast(StateSetManyResult, await self._calls.await_(requests.set_many(items)))

    def delete_many(
        self, scope: str, *, keys: Iterable[str] | None = None, prefix: str | None = None
    ) -> StateDeleteManyResult:
        """Deletes 1 to 1,000 keys, or all with the prefix (``""``: the whole scope), and counts those that were."""
        request = requests.delete_many(scope, keys, prefix)
        return cast(StateDeleteManyResult, self._calls.wait(request, "state.delete_many"))

    async def delete_many_async(
        self, scope: str, *, keys: Iterable[str] | None = None, prefix: str | None = None
    ) -> StateDeleteManyResult:
        """As ``delete_many``, for event loops."""
        request = requests.delete_many(scope, keys, prefix)
        return cast(StateDeleteManyResult, await self._calls.await_(request))

    # ---- listings

    def list(self, scope: str) -> _Values:
        """All values of a scope, in the order of their keys. For large scopes use ``entries``."""
        return cast(_Values, self._calls.wait(requests.list_(scope), "state.list"))

    async def list_async(self, scope: str) -> _Values:
        """As ``list``, for event loops."""
        return cast(_Values, await self._calls.await_(requests.list_(scope)))

    def entries(self, scope: str, *, prefix: str | None = None, page_size: int | None = None) -> Iterator[StateEntry]:
        """All items of a scope in the order of their keys, fetched page by page.

        What exists throughout comes exactly once, whatever is written meanwhile.
        """
        cursor: str | None = None
        while True:
            page = self.entries_page(scope, prefix=prefix, cursor=cursor, limit=page_size)
            yield from page["items"]
            cursor = page["cursor"]
            if cursor is None:
                return

    async def entries_async(
        self, scope: str, *, prefix: str | None = None, page_size: int | None = None
    ) -> AsyncIterator[StateEntry]:
        """As ``entries``, for ``async for``."""
        cursor: str | None = None
        while True:
            page = await self.entries_page_async(scope, prefix=prefix, cursor=cursor, limit=page_size)
            for entry in page["items"]:
                yield entry
            cursor = page["cursor"]
            if cursor is None:
                return

    def entries_page(
        self, scope: str, *, prefix: str | None = None, cursor: str | None = None, limit: int | None = None
    ) -> StatePage:
        """One page of ``entries``; ``cursor`` is the one of the page before."""
        return cast(StatePage, self._calls.wait(requests.entries(scope, prefix, cursor, limit), "state.entries_page"))

    async def entries_page_async(
        self, scope: str, *, prefix: str | None = None, cursor: str | None = None, limit: int | None = None
    ) -> StatePage:
        """As ``entries_page``, for event loops."""
        return cast(StatePage, await self._calls.await_(requests.entries(scope, prefix, cursor, limit)))

    def list_groups(self) -> _Names:
        """Names of all scopes that hold items, in order."""
        return cast(_Names, self._calls.wait(requests.list_groups(), "state.list_groups")["groups"])

    async def list_groups_async(self) -> _Names:
        """As ``list_groups``, for event loops."""
        return cast(_Names, (await self._calls.await_(requests.list_groups()))["groups"])

    def groups(self, *, prefix: str | None = None, page_size: int | None = None) -> Iterator[StateGroup]:
        """All scopes whose names begin with the prefix, with the number of their items and their size."""
        cursor: str | None = None
        while True:
            page = self.groups_page(prefix=prefix, cursor=cursor, limit=page_size)
            yield from page["items"]
            cursor = page["cursor"]
            if cursor is None:
                return

    async def groups_async(
        self, *, prefix: str | None = None, page_size: int | None = None
    ) -> AsyncIterator[StateGroup]:
        """As ``groups``, for ``async for``."""
        cursor: str | None = None
        while True:
            page = await self.groups_page_async(prefix=prefix, cursor=cursor, limit=page_size)
            for group in page["items"]:
                yield group
            cursor = page["cursor"]
            if cursor is None:
                return

    def groups_page(
        self, *, prefix: str | None = None, cursor: str | None = None, limit: int | None = None
    ) -> StateGroupsPage:
        """One page of ``groups``."""
        return cast(StateGroupsPage, self._calls.wait(requests.groups(prefix, cursor, limit), "state.groups_page"))

    async def groups_page_async(
        self, *, prefix: str | None = None, cursor: str | None = None, limit: int | None = None
    ) -> StateGroupsPage:
        """As ``groups_page``, for event loops."""
        return cast(StateGroupsPage, await self._calls.await_(requests.groups(prefix, cursor, limit)))

    # ---- all of it

    def export(self, scope: str | None = None, prefix: str | None = None) -> Iterator[StateRecord]:
        """All items, or those of a scope or of keys with a prefix, as they are read from the engine.

        Raises:
            CallError: ``channel_closed`` when the engine broke off: what came is not the whole.
        """
        for line in export_lines(self._calls, scope, prefix, "state.export"):
            yield record_of(line)

    async def export_async(self, scope: str | None = None, prefix: str | None = None) -> AsyncIterator[StateRecord]:
        """As ``export``, for ``async for``."""
        async for line in export_lines_async(self._calls, scope, prefix):
            yield record_of(line)

    def export_lines(self, scope: str | None = None, prefix: str | None = None) -> Iterator[str]:
        """As ``export``, each item as the JSON text that the engine wrote, without the line feed: for files."""
        return export_lines(self._calls, scope, prefix, "state.export_lines")

    def export_lines_async(self, scope: str | None = None, prefix: str | None = None) -> AsyncIterator[str]:
        """As ``export_lines``, for ``async for``."""
        return export_lines_async(self._calls, scope, prefix)

    def import_(
        self,
        records: Iterable[StateRecord | Mapping[str, Any] | str],
        *,
        on_existing: OnExisting = "overwrite",
        timeout_ms: int = IMPORT_TIMEOUT_MS,
    ) -> StateImportResult:
        """Writes items as ``export`` and ``export_lines`` hand them out; a file with one JSON object a line will do.

        ``timeout_ms``: until the last item is written; default one hour.

        Raises:
            CallError: as the engine refused it; its message names the line. What the iterable raises ends the import.
        """
        return import_records(self._calls, records, on_existing, timeout_ms)

    async def import_async(
        self,
        records: Iterable[StateRecord | Mapping[str, Any] | str] | AsyncIterable[StateRecord | Mapping[str, Any] | str],
        *,
        on_existing: OnExisting = "overwrite",
        timeout_ms: int = IMPORT_TIMEOUT_MS,
    ) -> StateImportResult:
        """As ``import_``, for event loops."""
        return await import_records_async(self._calls, records, on_existing, timeout_ms)

    def snapshot(self, name: str | None = None, *, timeout_ms: int | None = None) -> StateSnapshot:
        """Has the engine write a copy of all items into its folder ``snapshots``; nobody has to wait for that."""
        return cast(StateSnapshot, self._calls.wait(requests.snapshot(name, timeout_ms), "state.snapshot"))

    async def snapshot_async(self, name: str | None = None, *, timeout_ms: int | None = None) -> StateSnapshot:
        """As ``snapshot``, for event loops."""
        return cast(StateSnapshot, await self._calls.await_(requests.snapshot(name, timeout_ms)))
