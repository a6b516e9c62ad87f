"""Names of options that are given as dicts or keyword arguments."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from difflib import get_close_matches

#: Names up to this length are compared with the known ones.
_LONGEST_COMPARED = 64


def unknown_names(given: Iterable[object], known: Collection[str], what: str = "member") -> str | None:
    """Returns a clause about the names that are not known, with the nearest known name of each; None if all are.

    Example: ``no member timeout; did you mean timeout_ms?``. ``what`` is the kind of the names.
    """
    unknown = [str(name) for name in given if name not in known]
    if not unknown:
        return None
    nearest = {name: nearest_name(name, known) for name in unknown}
    if None in nearest.values():
        return f"no {what} {', '.join(unknown):.200}; it may have {', '.join(known)}"
    return ", ".join(f"no {what} {name}; did you mean {near}?" for name, near in nearest.items())


def nearest_name(name: str, known: Iterable[str]) -> str | None:
    """Returns the known name that ``name`` was probably meant to be, whatever its case; None if none is near."""
    if len(name) > _LONGEST_COMPARED:
        return None
    by_folded = {_folded(one): one for one in known}
    found = get_close_matches(_folded(name), by_folded, n=1, cutoff=0.65)
    return by_folded[found[0]] if found else None


def _folded(name: str) -> str:
    return name.lower().replace("_", "").replace("-", "")
