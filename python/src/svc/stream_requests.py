"""The calls behind ``worker.stream``."""

from __future__ import annotations

from collections.abc import Sequence

from .helper_calls import request_of
from .requests import CallRequest
from .update_ops import UpdateOp


def get(stream_name: str, group_id: str, item_id: str) -> CallRequest:
    return request_of("stream::get", stream_name=stream_name, group_id=group_id, item_id=item_id)


def get_entry(stream_name: str, group_id: str, item_id: str) -> CallRequest:
    return request_of("stream::get_entry", stream_name=stream_name, group_id=group_id, item_id=item_id)


def set_(
    stream_name: str, group_id: str, item_id: str, data: object, if_version: int | None, expires_in_ms: int | None
) -> CallRequest:
    # `data` is put in by hand: null is a value.
    request = request_of(
        "stream::set",
        stream_name=stream_name,
        group_id=group_id,
        item_id=item_id,
        if_version=if_version,
        expires_in_ms=expires_in_ms,
    )
    request["payload"]["data"] = data
    return request


def update(
    stream_name: str,
    group_id: str,
    item_id: str,
    ops: Sequence[UpdateOp],
    atomic: bool,
    if_version: int | None,
    expires_in_ms: int | None,
) -> CallRequest:
    return request_of(
        "stream::update",
        stream_name=stream_name,
        group_id=group_id,
        item_id=item_id,
        ops=list(ops),
        atomic=atomic,
        if_version=if_version,
        expires_in_ms=expires_in_ms,
    )


def delete(stream_name: str, group_id: str, item_id: str, if_version: int | None) -> CallRequest:
    return request_of(
        "stream::delete", stream_name=stream_name, group_id=group_id, item_id=item_id, if_version=if_version
    )


def list_(stream_name: str, group_id: str) -> CallRequest:
    return request_of("stream::list", stream_name=stream_name, group_id=group_id)


def list_groups(stream_name: str) -> CallRequest:
    return request_of("stream::list_groups", stream_name=stream_name)


def list_all() -> CallRequest:
    return request_of("stream::list_all")


def send(stream_name: str, group_id: str, type: str, data: object, id: str | None) -> CallRequest:
    request = request_of("stream::send", stream_name=stream_name, group_id=group_id, type=type, id=id)
    request["payload"]["data"] = data
    return request


def entries(stream_name: str, group_id: str, prefix: str | None, cursor: str | None, limit: int | None) -> CallRequest:
    return request_of(
        "stream::entries", stream_name=stream_name, group_id=group_id, prefix=prefix, cursor=cursor, limit=limit
    )
