"""Operations of ``worker.state.update`` and ``worker.stream.update``, which the engine applies atomically."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, TypeAlias, TypedDict

#: A string is a member of the root, taken literally (``"a.b"`` is a member with a dot, ``""`` the root itself). A list
#: is a nested path with one member per segment (``[]`` is the root).
UpdatePath: TypeAlias = str | Sequence[str]


class SetOp(TypedDict):
    """Sets the value at ``path``."""

    type: Literal["set"]
    path: UpdatePath
    value: Any


class _MergeOp(TypedDict):
    type: Literal["merge"]
    value: dict[str, Any]


class MergeOp(_MergeOp, total=False):
    """Sets the members of ``value`` in the object at ``path`` (default: the root). Replaces a value of another type."""

    path: UpdatePath


class IncrementOp(TypedDict):
    """Adds the integer ``by``. A missing value counts as 0."""

    type: Literal["increment"]
    path: UpdatePath
    by: int


class DecrementOp(TypedDict):
    """Subtracts the integer ``by``. A missing value counts as 0."""

    type: Literal["decrement"]
    path: UpdatePath
    by: int


class _AppendOp(TypedDict):
    type: Literal["append"]
    value: Any


class AppendOp(_AppendOp, total=False):
    """Appends ``value`` to a list, or a string to a string. A missing value becomes a list. Exception: a string at a
    member of the root, or at the root, stays a string."""

    path: UpdatePath


class RemoveOp(TypedDict):
    """Removes a member. Does nothing if it is missing."""

    type: Literal["remove"]
    path: UpdatePath


UpdateOp: TypeAlias = SetOp | MergeOp | IncrementOp | DecrementOp | AppendOp | RemoveOp


class UpdateOpError(TypedDict):
    """Why an operation failed. ``op_index`` starts at 0. ``code`` is e.g. ``increment.not_number``."""

    op_index: int
    code: str
    message: str
