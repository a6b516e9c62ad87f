"""Selects which telemetry a worker sends to the engine."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypedDict

from svc.options import unknown_names


class TelemetryOptions(TypedDict, total=False):
    """``logs``: log lines with their span. ``spans``: spans of ``context.span`` and ``worker.span``. ``metrics``:
    metrics of the process, every 10 seconds."""

    logs: bool
    spans: bool
    metrics: bool


@dataclass(frozen=True, slots=True)
class Switches:
    logs: bool
    spans: bool
    metrics: bool


def switches_of(given: bool | TelemetryOptions | None, by_default: bool) -> Switches:
    """Returns the given option, else the setting of ``SVC_TELEMETRY`` (off, false, no, 0), else ``by_default``.

    Raises:
        ValueError: neither a bool nor a dict of these options.
    """
    if isinstance(given, bool):
        return Switches(given, given, given)
    is_on = by_default and os.environ.get("SVC_TELEMETRY", "").strip().lower() not in ("off", "false", "no", "0")
    options: Mapping[str, object] = {} if given is None else given
    names = ("logs", "spans", "metrics")
    unknown = unknown_names(options, names) if isinstance(options, Mapping) else None
    if unknown is not None:
        raise ValueError(f"telemetry has {unknown}")
    if not isinstance(options, Mapping) or not all(isinstance(value, bool) for value in options.values()):
        raise ValueError(
            f"telemetry must be a bool or a dict of bools with some of {', '.join(names)}, not {given!r:.100}"
        )
    return Switches(*(bool(options.get(name, is_on)) for name in names))
