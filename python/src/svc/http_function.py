"""Functions that do not run in this worker: the engine calls them over HTTP."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal
from urllib.parse import urlsplit

from .errors import CallError
from .outgoing import timeout_option


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpFunction:
    """How the engine reaches a function. Give it to ``register_function`` in place of a handler.

    Args:
        url: ``https://`` or, where the engine's settings allow it, ``http://``.
        method: The payload is the body with every method.
        timeout_ms: Deadline of one call with all its attempts, 1 to 86,400,000. Default 30,000.
        headers: Sent with every request.
        auth: ``{"type": "hmac", "secret_key"}``, ``{"type": "bearer", "token_key"}`` or
            ``{"type": "api_key", "header", "value_key"}``. The keys are names of environment variables of the engine.
        retry: ``{"attempts"?, "statuses"?, "idempotent"?}``. By default only what reached nobody is tried again.

    Raises:
        ValueError: a URL that is none, a deadline out of range.
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

    def to_wire(self) -> dict[str, object]:
        """``invocation`` of the registration; what is not set is left out."""
        members: dict[str, object] = {"url": self.url, "method": self.method, "timeout_ms": self.timeout_ms}
        for name, value in (("headers", self.headers), ("auth", self.auth), ("retry", self.retry)):
            members[name] = None if value is None else dict(value)
        return {name: value for name, value in members.items() if value is not None}


def not_here(id: str) -> Callable[[], Any]:
    """What the worker answers if an engine sends it a call of such a function all the same."""

    def refuse():  # type: ignore[no-untyped-def]  # a hint would become the function's response format
        raise CallError("function_not_invokable", f"function {id} is reached over HTTP and does not run in this worker")

    return refuse
