"""Arguments and results of ``worker.state``, and payload of state triggers. Members have the names of the wire."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, TypeAlias, TypedDict

from .update_ops import UpdateOpError

#: Present in results if the write is not on disk yet: ``relaxed`` may lose the last second in a power failure,
#: ``memory`` keeps the write as long as the engine runs.
Durability: TypeAlias = Literal["relaxed", "memory"]


class _StateEntry(TypedDict):
    key: str
    value: Any
    version: int
    updated_at: str
    bytes: int


class StateEntry(_StateEntry, total=False):
    """One item. ``version`` starts at 1 and grows by 1 with each change. ``updated_at``, and ``expires_at`` of an item
    that expires: ISO 8601 in UTC. ``bytes``: size of the value's JSON."""

    expires_at: str


class StatePage(TypedDict):
    """``cursor``: for the next page; None on the last page. ``total``: number of items on all pages."""

    items: list[StateEntry]
    cursor: str | None
    total: int


class _StateSetResult(TypedDict):
    old_value: Any
    new_value: Any
    version: int


class StateSetResult(_StateSetResult, total=False):
    durability: Durability


class StateUpdateResult(StateSetResult, total=False):
    """If ``errors`` is present, nothing was written, unless the update was not atomic."""

    errors: list[UpdateOpError]


class _StateWrite(TypedDict):
    scope: str
    key: str
    value: Any


class StateWrite(_StateWrite, total=False):
    """One write of ``set_many``. Optional members are those of ``set``."""

    if_version: int
    expires_in_ms: int


class StateWritten(TypedDict):
    scope: str
    key: str
    version: int


class _StateSetManyResult(TypedDict):
    items: list[StateWritten]


class StateSetManyResult(_StateSetManyResult, total=False):
    durability: Durability


class StateDeleteManyResult(TypedDict):
    deleted: int


class StateGroup(TypedDict):
    """One scope, the number of its items and the total size of their JSON."""

    scope: str
    items: int
    bytes: int


class StateGroupsPage(TypedDict):
    items: list[StateGroup]
    cursor: str | None
    total: int


class _StateRecord(TypedDict):
    scope: str
    key: str
    value: Any


class StateRecord(_StateRecord, total=False):
    """One line of an export. An import reads ``scope``, ``key``, ``value``, ``expires_at``. Versions restart at 1."""

    version: int
    updated_at: str
    expires_at: str


class StateImportResult(TypedDict):
    imported: int
    skipped: int


class StateSnapshot(TypedDict):
    """File of the copy on the engine's machine, and its size."""

    file: str
    bytes: int


StateEventType: TypeAlias = Literal["state:created", "state:updated", "state:deleted"]


class StateTriggerConfig(TypedDict, total=False):
    """Config of triggers of the types ``state``, ``state:created``, ``state:updated`` and ``state:deleted``. Missing
    members match everything.

    Attributes:
        prefix: Prefix of keys.
        event_types: E.g. ``["state:created"]`` or ``["created"]``.
        condition_function_id: Called first, with the payload. If it returns False, the handler is not called.
        max_attempts: Maximum number of calls of a failing handler, default 5.
    """

    scope: str
    key: str
    prefix: str
    event_types: Sequence[str]
    condition_function_id: str
    max_attempts: int


class StateEvent(TypedDict):
    """Payload of a state trigger. ``old_value`` of a new item and ``new_value`` of a deleted item are None."""

    type: Literal["state"]
    event_type: StateEventType
    scope: str
    key: str
    old_value: Any
    new_value: Any
    version: int
    updated_at: str
