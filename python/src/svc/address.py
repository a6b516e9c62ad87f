"""The engine's address."""

from __future__ import annotations

import os
from urllib.parse import urlsplit, urlunsplit

DEFAULT_ADDRESS = "ws://localhost:49134"


def resolve_address(address: str | None = None) -> str:
    """Returns the argument, else the environment variable ``SVC_URL``, else ``ws://localhost:49134``.

    Raises:
        ValueError: not a ``ws://`` or ``wss://`` address. The message names its source.
    """
    if address is not None:
        return _checked(address, "the address argument")
    from_environment = os.environ.get("SVC_URL", "")
    if from_environment != "":
        return _checked(from_environment, "the environment variable SVC_URL")
    return DEFAULT_ADDRESS


def without_credentials(address: str) -> str:
    """Returns the address for logs and messages."""
    parts = urlsplit(address)
    # A query may contain a token too: the engine passes it to its auth function.
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "…" if parts.query else "", ""))


def _checked(address: str, source: str) -> str:
    if not isinstance(address, str):
        raise TypeError(f"{source} must be a string such as {DEFAULT_ADDRESS}, not {type(address).__name__}")
    text = address.strip()
    try:
        parts = urlsplit(text)
        scheme, host, _ = parts.scheme, parts.hostname, parts.port
    except ValueError as cause:
        raise ValueError(f"{source} is not an address: {cause}; it should look like {DEFAULT_ADDRESS}") from None
    if scheme not in ("ws", "wss") or not host:
        raise ValueError(
            f"{source} is {without_credentials(text)!r}, but it must be ws://host:port or wss://host:port, "
            f"for example {DEFAULT_ADDRESS}"
        )
    if parts.fragment:
        raise ValueError(f"{source} has a fragment (after '#'), which a WebSocket address cannot have")
    return text
