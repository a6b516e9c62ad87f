"""Operations of ``worker.state.update`` and ``worker.stream.update``, carried out in the engine, each in one step."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, TypeAlias, TypedDict

#: A string is one literal member of the root (``"a.b"`` is a member with a dot, ``""`` the root itself); a list leads
#: deeper, one member a segment (``[]`` is the root).
UpdatePath: TypeAlias = str | Sequence[str]


class SetOp(TypedDict):
    """Sets what lies at ``path``."""

    type: Literal["set"]
    path: UpdatePath
    value: Any


class _MergeOp(TypedDict):
    type: Literal["merge"]
    value: dict[str, Any]


class MergeOp(_MergeOp, total=False):
    """Sets the members of ``value`` in the object at ``path`` (default: the root), which becomes one if it is none."""

    path: UpdatePath


class IncrementOp(TypedDict):
    """Adds the whole number ``by``; nothing there counts as 0."""

    type: Literal["increment"]
    path: UpdatePath
    by: int


class DecrementOp(TypedDict):
    """Subtracts the whole number ``by``; nothing there counts as 0."""

    type: Literal["decrement"]
    path: UpdatePath
    by: int


class _AppendOp(TypedDict):
    type: Literal["append"]
    value: Any


class AppendOp(_AppendOp, total=False):
    """Puts ``value`` behind the others of a list, or a text behind a text. Where nothing is, a list is made, but for a
    text whose path names a member of the root or the root, which stays a text."""

    path: UpdatePath


class RemoveOp(TypedDict):
    """Takes a member away; one that is missing is fine."""

    type: Literal["remove"]
    path: UpdatePath


UpdateOp: TypeAlias = SetOp | MergeOp | IncrementOp | DecrementOp | AppendOp | RemoveOp


class UpdateOpError(TypedDict):
    """Why one operation was not done. ``op_index`` counts from 0; ``code`` is e.g. ``increment.not_number``."""

    op_index: int
    code: str
    message: str
