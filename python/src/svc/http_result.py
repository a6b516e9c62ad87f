"""HTTP responses that a function returns as a whole."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypedDict

Headers = Mapping[str, "str | Sequence[str]"]
"""By name. A list sets the header several times, e.g. ``set-cookie``."""


class HttpResult(TypedDict, total=False):
    """A response. Any other value that a function returns is the body, as JSON with status 200."""

    status_code: int
    headers: Headers
    body: Any


_MEMBERS = frozenset(("status_code", "headers", "body"))


def http_response(body: object = None, *, status_code: int = 200, headers: Headers | None = None) -> HttpResult:
    """Returns a response. The body is a ``str`` as text, None as an empty body, or another value as JSON.

    Raises:
        ValueError: the status is not from 200 to 599.
        TypeError: a header's value is not a string.
    """
    given = checked_headers(headers or {})
    if body is None or isinstance(body, str):
        if not any(name.lower() == "content-type" for name in given):
            given["content-type"] = "text/plain; charset=utf-8"
        body = body or ""
    return {"status_code": checked_status(status_code), "headers": given, "body": body}


def json_response(value: object, *, status_code: int = 200, headers: Headers | None = None) -> HttpResult:
    """Returns a response whose body is the value as JSON, even if it is a string. Raises as ``http_response``."""
    # Without a content type every engine writes JSON. With one, some engines send strings unencoded.
    return {"status_code": checked_status(status_code), "headers": checked_headers(headers or {}), "body": value}


def redirect_response(location: str, *, status_code: int = 302) -> HttpResult:
    """Returns a redirect. ``status_code``: 301, 302, 303, 307 or 308."""
    if status_code not in (301, 302, 303, 307, 308):
        raise ValueError(f"a redirect has status 301, 302, 303, 307 or 308, not {status_code!r}")
    return http_response(status_code=status_code, headers={"location": location})


def is_http_result(value: object) -> bool:
    """Applies the engine's rule: an object with only the three members, or with a numeric status."""
    if not isinstance(value, Mapping) or len(value) == 0:
        return False
    status = value.get("status_code")
    return (isinstance(status, int) and not isinstance(status, bool)) or value.keys() <= _MEMBERS


def checked_status(status_code: int) -> int:
    if isinstance(status_code, bool) or not isinstance(status_code, int) or not 200 <= status_code <= 599:
        raise ValueError(f"a status is a whole number from 200 to 599, not {status_code!r}")
    return status_code


def checked_headers(headers: Headers) -> dict[str, str | list[str]]:
    checked: dict[str, str | list[str]] = {}
    for name, value in headers.items():
        values = [value] if isinstance(value, str) else list(value) if isinstance(value, Sequence) else [value]
        if not isinstance(name, str) or not all(isinstance(one, str) for one in values):
            raise TypeError(f"header {name!r} must be a string or a list of strings, not {value!r:.100}")
        if any(char in one for one in (name, *values) for char in "\r\n\0"):
            raise ValueError(f"header {name!r} contains a line break or NUL")
        checked[name] = value if isinstance(value, str) else values
    return checked
