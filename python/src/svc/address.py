"""The engine's address."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from urllib.parse import urlencode, urlsplit, urlunsplit

DEFAULT_ADDRESS = "ws://localhost:49134"
DEFAULT_STREAMS_ADDRESS = "ws://localhost:3112"

_MAX_ADDRESSES = 16
# A password may contain commas.
_SEPARATOR = re.compile(r",(?=\s*wss?://)", re.IGNORECASE)


def resolve_addresses(address: str | None = None) -> tuple[str, ...]:
    """Returns the argument, else the environment variable ``SVC_URL``, else ``ws://localhost:49134``.

    The first two may list the addresses of several engines of a cluster, separated by commas.

    Raises:
        ValueError: one is not a ``ws://`` or ``wss://`` address, or there are more than 16. The message names the
            source.
    """
    if address is not None:
        return _several(address, "the address argument")
    from_environment = os.environ.get("SVC_URL", "")
    if from_environment != "":
        return _several(from_environment, "the environment variable SVC_URL")
    return (DEFAULT_ADDRESS,)


def streams_address(url: str | None, query: Mapping[str, str]) -> str:
    """Returns the address of the engine's real-time listener, default ``ws://localhost:3112``, with the query added.

    Raises:
        ValueError: not a ``ws://`` or ``wss://`` address.
    """
    address = DEFAULT_STREAMS_ADDRESS if url is None else _checked(url, "the streams' url", DEFAULT_STREAMS_ADDRESS)
    parts = urlsplit(address)
    added = "&".join(part for part in (parts.query, urlencode(query)) if part)
    return urlunsplit((parts.scheme, parts.netloc, parts.path or "/", added, ""))


def without_credentials(address: str) -> str:
    """Returns the address for logs and messages."""
    parts = urlsplit(address)
    # A query may contain a token too: the engine passes it to its auth function.
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "…" if parts.query else "", ""))


def _several(addresses: str, source: str) -> tuple[str, ...]:
    _require_text(addresses, source, DEFAULT_ADDRESS)
    checked = tuple(_checked(address, source) for address in _SEPARATOR.split(addresses))
    if len(checked) > _MAX_ADDRESSES:
        raise ValueError(f"{source} has more than {_MAX_ADDRESSES} addresses")
    return checked


def _checked(address: str, source: str, example: str = DEFAULT_ADDRESS) -> str:
    _require_text(address, source, example)
    text = address.strip()
    try:
        parts = urlsplit(text)
        scheme, host, _ = parts.scheme, parts.hostname, parts.port
    except ValueError as cause:
        raise ValueError(f"{source} is not an address: {cause}; it should look like {example}") from None
    if scheme not in ("ws", "wss") or not host:
        raise ValueError(
            f"{source} is {without_credentials(text)!r}, but it must be ws://host:port or wss://host:port, "
            f"for example {example}"
        )
    if "," in host:
        raise ValueError(f"{source} has several addresses; each must begin with ws:// or wss://, for example {example}")
    if parts.fragment:
        raise ValueError(f"{source} has a fragment (after '#'), which a WebSocket address cannot have")
    return text


def _require_text(address: object, source: str, example: str) -> None:
    if not isinstance(address, str):
        raise TypeError(f"{source} must be a string such as {example}, not {type(address).__name__}")
