"""Functions that the engine calls over HTTP instead of in this worker."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal
from urllib.parse import urlsplit

from .errors import CallError
from .options import unknown_names
from .outgoing import timeout_option

_RETRY_MEMBERS = ("attempts", "statuses", "idempotent")
_AUTH_MEMBERS = {
    "hmac": ("type", "secret_key"),
    "bearer": ("type", "token_key"),
    "api_key": ("type", "header", "value_key"),
}
#: For a type that only the engine may know.
_ALL_AUTH_MEMBERS = ("type", "secret_key", "token_key", "header", "value_key")


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpFunction:
    """An HTTP endpoint as a function. Pass it to ``register_function`` instead of a handler.

    Args:
        url: ``https://`` or, if the engine's config allows it, ``http://``.
        method: HTTP method. The payload is the request body, whatever the method.
        timeout_ms: Deadline of one call including its retries, 1 to 86,400,000. Default 30,000.
        headers: Headers of every request.
        auth: ``{"type": "hmac", "secret_key"}``, ``{"type": "bearer", "token_key"}`` or
            ``{"type": "api_key", "header", "value_key"}``. The keys are names of environment variables of the engine.
        retry: ``{"attempts"?, "statuses"?, "idempotent"?}``. By default only requests that were not sent are retried.

    Raises:
        ValueError: the URL is invalid, the deadline is out of range, or ``auth`` or ``retry`` has an unknown member.
    """

    url: str
    method: Literal["GET", "POST", "PUT", "PATCH", "DELETE"] = "POST"
    timeout_ms: int | None = None
    headers: Mapping[str, str] | None = None
    auth: Mapping[str, str] | None = None
    retry: Mapping[str, object] | None = None

    def __post_init__(self) -> None:
        parts = urlsplit(self.url)
        if parts.scheme.lower() not in ("http", "https") or not parts.netloc:
            raise ValueError(f"the url of an HttpFunction must begin with https:// or http://, got {self.url!r:.100}")
        if self.timeout_ms is not None:
            timeout_option(self.timeout_ms, "timeout_ms of an HttpFunction")
        for what, given, known in (
            ("retry", self.retry, _RETRY_MEMBERS),
            ("auth", self.auth, _AUTH_MEMBERS.get((self.auth or {}).get("type", ""), _ALL_AUTH_MEMBERS)),
        ):
            unknown = unknown_names(given or {}, known)
            if unknown is not None:
                raise ValueError(f"{what} of an HttpFunction has {unknown}")

    def to_wire(self) -> dict[str, object]:
        """Returns ``invocation`` of the registration, without members that are not set."""
        members: dict[str, object] = {"url": self.url, "method": self.method, "timeout_ms": self.timeout_ms}
        for name, value in (("headers", self.headers), ("auth", self.auth), ("retry", self.retry)):
            members[name] = None if value is None else dict(value)
        return {name: value for name, value in members.items() if value is not None}


def refusing_handler(id: str) -> Callable[[], Any]:
    """Returns the handler for the case that an engine sends a call of such a function to the worker."""

    def refuse():  # type: ignore[no-untyped-def]  # a type hint would become the function's response format
        raise CallError("function_not_invokable", f"function {id} is called over HTTP and does not run in this worker")

    return refuse
