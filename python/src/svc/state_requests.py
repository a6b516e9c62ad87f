"""The calls behind ``worker.state``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

from .channel_reader import ChannelReader
from .errors import CallError
from .helper_calls import request_of
from .requests import CallRequest
from .update_ops import UpdateOp

OnExisting = Literal["overwrite", "skip", "fail"]


def get(scope: str, key: str) -> CallRequest:
    return request_of("state::get", scope=scope, key=key)


def get_entry(scope: str, key: str) -> CallRequest:
    return request_of("state::get_entry", scope=scope, key=key)


def set_(scope: str, key: str, value: object, if_version: int | None, expires_in_ms: int | None) -> CallRequest:
    # Put in by hand: null is a value.
    request = request_of("state::set", scope=scope, key=key, if_version=if_version, expires_in_ms=expires_in_ms)
    request["payload"]["value"] = value
    return request


def update(
    scope: str, key: str, ops: Sequence[UpdateOp], atomic: bool, if_version: int | None, expires_in_ms: int | None
) -> CallRequest:
    return request_of(
        "state::update",
        scope=scope,
        key=key,
        ops=list(ops),
        atomic=atomic,
        if_version=if_version,
        expires_in_ms=expires_in_ms,
    )


def delete(scope: str, key: str, if_version: int | None) -> CallRequest:
    return request_of("state::delete", scope=scope, key=key, if_version=if_version)


def get_many(scope: str, keys: Iterable[str]) -> CallRequest:
    return request_of("state::get_many", scope=scope, keys=_listed(keys))


def set_many(items: Iterable[Mapping[str, Any]]) -> CallRequest:
    return request_of("state::set_many", items=list(items))


def delete_many(scope: str, keys: Iterable[str] | None, prefix: str | None) -> CallRequest:
    if (keys is None) == (prefix is None):
        raise CallError(
            "invalid_input", 'delete_many takes either keys or a prefix; prefix="" stands for the whole scope'
        )
    return request_of("state::delete_many", scope=scope, keys=None if keys is None else _listed(keys), prefix=prefix)


def list_(scope: str) -> CallRequest:
    return request_of("state::list", scope=scope)


def entries(scope: str, prefix: str | None, cursor: str | None, limit: int | None) -> CallRequest:
    return request_of("state::entries", scope=scope, prefix=prefix, cursor=cursor, limit=limit)


def list_groups() -> CallRequest:
    return request_of("state::list_groups")


def groups(prefix: str | None, cursor: str | None, limit: int | None) -> CallRequest:
    return request_of("state::groups", prefix=prefix, cursor=cursor, limit=limit)


def export(scope: str | None, prefix: str | None) -> CallRequest:
    return request_of("state::export", scope=scope, prefix=prefix)


def import_(lines: ChannelReader, on_existing: OnExisting, timeout_ms: int) -> CallRequest:
    request = request_of("state::import", lines=lines, on_existing=on_existing)
    request["timeout_ms"] = timeout_ms
    return request


def snapshot(name: str | None, timeout_ms: int | None) -> CallRequest:
    request = request_of("state::snapshot", name=name)
    if timeout_ms is not None:
        request["timeout_ms"] = timeout_ms
    return request


def _listed(keys: Iterable[str]) -> list[str]:
    if isinstance(keys, str):
        raise CallError("invalid_input", "keys must be a list of keys, not one string")
    return list(keys)
