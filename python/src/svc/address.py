"""Where the engine is."""

from __future__ import annotations

import os
from urllib.parse import urlsplit, urlunsplit

DEFAULT_ADDRESS = "ws://localhost:49134"


def resolve_address(address: str | None = None) -> str:
    """The engine's address: the argument, else the variable ``SVC_URL``, else ``ws://localhost:49134``.

    Raises:
        ValueError: it is not a ``ws://`` or ``wss://`` address; the message names where it came from.
    """
    if address is not None:
        return _checked(address, "the address argument")
    from_environment = os.environ.get("SVC_URL", "")
    if from_environment != "":
        return _checked(from_environment, "the environment variable SVC_URL")
    return DEFAULT_ADDRESS


def without_credentials(address: str) -> str:
    """The address as it may stand in logs and messages."""
    parts = urlsplit(address)
    # A query may hold a token too (it is handed to the engine's auth function).
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
            f"{source} is {without_credentials(text)!r}, but must be ws://host:port or wss://host:port, "
            f"for example {DEFAULT_ADDRESS}"
        )
    if parts.fragment:
        raise ValueError(f"{source} has a part behind '#', which a WebSocket address cannot have")
    return text
