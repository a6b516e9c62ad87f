"""W3C Baggage: https://www.w3.org/TR/baggage/"""

from __future__ import annotations

from urllib.parse import quote, unquote

#: As many members as are to be passed on, and more than that; what is beyond is not looked at.
_MAX_MEMBERS = 180


def read_baggage(text: str | None) -> dict[str, str]:
    """Entries of a ``baggage`` header, decoded, without their properties."""
    entries: dict[str, str] = {}
    for member in (text or "").split(",", _MAX_MEMBERS)[:_MAX_MEMBERS]:
        name, equals, value = member.partition(";")[0].partition("=")
        if equals and name.strip():
            entries[name.strip()] = unquote(value.strip())
    return entries


def write_baggage(entries: dict[str, str]) -> str:
    return ",".join(f"{name}={quote(value, safe='')}" for name, value in entries.items())
