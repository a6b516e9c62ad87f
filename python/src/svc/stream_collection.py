"""An up-to-date copy of the items of a group."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar, Literal

from .blocking import blocking
from .errors import CallError
from .listeners import Listeners
from .logger import Logger
from .loop_bridge import LoopBridge
from .loop_condition import LoopCondition
from .stream_messages import StreamGap, StreamSync, StreamUpdate, SubscriptionStatus
from .stream_subscription import StreamHandlers, StreamSubscription


@dataclass(frozen=True, slots=True)
class CollectionChange:
    """A change of a collection: of all items (``sync``), or of one.

    Attributes:
        type: What happened.
        id: The item's id. None for ``sync``.
        item: The item; for ``delete`` the deleted one.
        items: All items by id: a read-only view that is valid while the listener runs.
    """

    type: Literal["sync", "create", "update", "delete"]
    id: str | None
    item: Any
    items: Mapping[str, Any]


class StreamCollection:
    """The items of a group by id, kept up to date. Created by ``collection`` of a client."""

    _name: ClassVar[str] = "collection"

    def __init__(
        self,
        subscribe: Callable[[StreamHandlers], StreamSubscription],
        *,
        bridge: LoopBridge,
        log: Logger,
        id_of: Callable[[Any], str | None] | None,
        on_change: Callable[[CollectionChange], object] | None,
        on_gap: Callable[[StreamGap], object] | None,
        on_error: Callable[[CallError], object] | None,
        on_status: Callable[[SubscriptionStatus], object] | None,
    ) -> None:
        self._bridge = bridge
        self._log = log
        self._id_of = id_of
        self._on_error = on_error
        self._on_status = on_status
        self._listeners = Listeners[CollectionChange]()
        if on_change is not None:
            self._listeners.add(on_change)
        self._items: dict[str, Any] = {}
        self._is_loaded = False
        self._failure: CallError | None = None
        self._changed = LoopCondition()
        handlers = StreamHandlers(self._sync, self._apply, on_gap, self._failed, self._status_changed)
        self._subscription = subscribe(handlers)

    @property
    def items(self) -> dict[str, Any]:
        """A copy of the present items by id. While the status is not ``live``, those of the last ``live`` moment."""
        return dict(self._items)

    def __len__(self) -> int:
        return len(self._items)

    def get(self, id: str) -> Any:
        """Returns an item, or None if there is no such item."""
        return self._items.get(id)

    @property
    def status(self) -> SubscriptionStatus:
        return self._subscription.status

    @property
    def seq(self) -> int | None:
        """Number of the last applied event. None before the first sync."""
        return self._subscription.seq

    async def wait_loaded_async(self, timeout_s: float = 30.0) -> None:
        """Waits until the items are loaded for the first time.

        Raises:
            CallError: ``call_timeout`` after ``timeout_s`` seconds; the engine's error, or ``disconnected``, if the
                subscription ended before.
            RuntimeError: ``wait_loaded`` was called on the client's event loop (inside a handler).
        """
        try:
            settled = await self._bridge.run(lambda: self._changed.wait_for(self._is_settled, timeout_s))
        except CallError:  # the client was closed
            settled = True
        if self._is_loaded:
            return
        if self._failure is not None:
            raise self._failure
        if settled:
            raise CallError("disconnected", "the collection was closed before its items arrived")
        place = f"group {self._subscription.group_id} of stream {self._subscription.stream_name}"
        raise CallError("call_timeout", f"the items of {place} were not loaded within {timeout_s:g} s")

    wait_loaded = blocking(wait_loaded_async)

    def on_change(self, listener: Callable[[CollectionChange], object]) -> Callable[[], None]:
        """Calls the listener on each change from now on. Returns a function that removes it.

        The listener runs on the client's event loop: it must not block. Its exceptions are logged.
        """
        return self._listeners.add(listener)

    def close(self) -> None:
        """Leaves the group. The items stay unchanged."""
        self._subscription.leave()

    # ---- on the client's loop

    def _is_settled(self) -> bool:
        return self._is_loaded or self._subscription.status == "closed"

    def _sync(self, sync: StreamSync) -> None:
        items: dict[str, Any] = {}
        nameless: list[int] = []
        listed = sync.data if isinstance(sync.data, list) else []
        ids = sync.item_ids or []
        for index, item in enumerate(listed):
            id = ids[index] if index < len(ids) else self._own_id(item)
            if id is None:
                nameless.append(index)
            else:
                items[id] = item
        self._items = items
        if nameless and self._on_error is not None:
            message = f"{len(nameless)} items have no id; give the collection an id_of"
            self._on_error(CallError("invalid_input", message, {"indexes": nameless[:10]}))
        self._is_loaded = True
        self._changed.changed()
        self._notify("sync", None, None)

    def _apply(self, update: StreamUpdate) -> None:
        if update.type == "event" or update.id is None:
            return
        if update.type == "delete":
            self._items.pop(update.id, None)
        else:
            self._items[update.id] = update.data
        self._notify(update.type, update.id, update.data)

    def _failed(self, error: CallError) -> None:
        self._failure = error
        if self._on_error is not None:
            self._on_error(error)

    def _status_changed(self, status: SubscriptionStatus) -> None:
        self._changed.changed()
        if self._on_status is not None:
            self._on_status(status)

    def _own_id(self, item: object) -> str | None:
        if self._id_of is not None:
            return self._id_of(item)
        id = item.get("id") if isinstance(item, dict) else None
        return id if isinstance(id, str) else None

    def _notify(self, type: Literal["sync", "create", "update", "delete"], id: str | None, item: object) -> None:
        change = CollectionChange(type, id, item, MappingProxyType(self._items))
        self._listeners.notify(change, self._log, "a listener of a stream collection failed", change=type)
