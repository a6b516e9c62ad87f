"""What ``worker.state`` takes and answers, and what state triggers hand over; members have the names of the wire."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, TypeAlias, TypedDict

from .update_ops import UpdateOpError

#: Present in answers when the write is not on the disk yet: ``relaxed`` may lose up to a second in a power cut,
#: ``memory`` keeps it as long as the engine runs.
Durability: TypeAlias = Literal["relaxed", "memory"]


class _StateEntry(TypedDict):
    key: str
    value: Any
    version: int
    updated_at: str
    bytes: int


class StateEntry(_StateEntry, total=False):
    """One item. ``version`` starts at 1 and grows by 1 with each change. ``updated_at``, and ``expires_at`` of an item
    that ends by itself: ISO 8601 in UTC. ``bytes``: size of the value's JSON."""

    expires_at: str


class StatePage(TypedDict):
    """``cursor`` leads to the next page; None behind the last. ``total``: items on all pages."""

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
    """With ``errors`` nothing was written, unless the update was not atomic."""

    errors: list[UpdateOpError]


class _StateWrite(TypedDict):
    scope: str
    key: str
    value: Any


class StateWrite(_StateWrite, total=False):
    """One write of ``set_many``; what is optional means what it means for ``set``."""

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
    """One scope, the number of its items and the size of their JSON together."""

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
    """One line of an export. An import reads ``scope``, ``key``, ``value`` and ``expires_at``; versions begin anew."""

    version: int
    updated_at: str
    expires_at: str


class StateImportResult(TypedDict):
    imported: int
    skipped: int


class StateSnapshot(TypedDict):
    """Where the engine wrote the copy, on its own machine, and how large it is."""

    file: str
    bytes: int


StateEventType: TypeAlias = Literal["state:created", "state:updated", "state:deleted"]


class StateTriggerConfig(TypedDict, total=False):
    """Config of triggers of the types ``state``, ``state:created``, ``state:updated`` and ``state:deleted``. What is
    left out matches everything.

    Attributes:
        prefix: Beginning of keys.
        event_types: E.g. ``["state:created"]``, or ``["created"]``.
        condition_function_id: Called with the payload first; the handler is not when it answers False.
        max_attempts: Calls of a handler that fails, default 5.
    """

    scope: str
    key: str
    prefix: str
    event_types: Sequence[str]
    condition_function_id: str
    max_attempts: int


class StateEvent(TypedDict):
    """Payload of a state trigger. ``old_value`` of a new item and ``new_value`` of a deleted one are None."""

    type: Literal["state"]
    event_type: StateEventType
    scope: str
    key: str
    old_value: Any
    new_value: Any
    version: int
    updated_at: str
