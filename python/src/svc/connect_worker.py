"""``svc.connect``."""

from __future__ import annotations

import os
import platform
import socket
from collections.abc import Mapping
from typing import Literal

from .address import resolve_addresses
from .backoff import ReconnectOptions
from .codec import name_problem
from .logger import Logger
from .outgoing import timeout_option
from .protocol import FEATURES
from .telemetry.options import Switches, TelemetryOptions, switches_of
from .version import VERSION
from .worker import Worker


def connect(
    address: str | None = None,
    *,
    name: str | None = None,
    description: str | None = None,
    call_timeout_ms: int | None = None,
    max_sync_handlers: int = 64,
    reconnect: ReconnectOptions | None = None,
    headers: Mapping[str, str] | None = None,
    logger: Logger | None = None,
    kind: Literal["worker", "cli", "console"] = "worker",
    telemetry: bool | TelemetryOptions | None = None,
) -> Worker:
    """Connects a worker to the engine and keeps it connected, on its own thread.

    Returns immediately. Earlier registrations and calls are sent when the connection is established.

    Args:
        address: ``ws://`` or ``wss://`` address. May contain credentials (``ws://svc:TOKEN@host``), and list the
            addresses of several engines of a cluster, separated by commas: after a loss the next one is tried at once.
            Default: the environment variable ``SVC_URL``, else ``ws://localhost:49134``.
        name: Name in listings. Default: ``SVC_WORKER_NAME``, else ``host:pid``.
        description: Description in listings, one sentence.
        call_timeout_ms: Deadline of calls without one, 1 to 86,400,000. Default: the function's, else 30,000.
        max_sync_handlers: Maximum number of concurrent sync handlers; further ones wait in order. Handlers that wait
            within ``worker.call`` do not count.
        reconnect: Backoff between attempts. Default: 1 s, doubled up to 30 s, 30 % jitter, without limit.
        headers: Headers of the HTTP upgrade. Default: a bearer header of ``SVC_TOKEN`` if that is set and the address
            has no credentials.
        logger: Logger of the worker and its handlers. Default: JSON lines on stderr.
        kind: Kind of the process. Only ``worker`` counts among the active worker processes.
        telemetry: Signals that are sent to the engine, all or individually:
            ``{"logs": bool, "spans": bool, "metrics": bool}``. Default: all, unless the environment variable
            ``SVC_TELEMETRY`` is ``off`` or ``kind`` is not ``worker``.

    Raises:
        ValueError: the address or an option is invalid. The message says which and what is expected.
    """
    shown_name = os.environ.get("SVC_WORKER_NAME", "").strip() or f"{socket.gethostname()}:{os.getpid()}"
    if name is not None:
        shown_name = name
    _check_options(shown_name, call_timeout_ms, max_sync_handlers)
    switches = switches_of(telemetry, by_default=kind == "worker")
    return Worker(
        resolve_addresses(address),
        name=shown_name,
        introduction=_introduction(shown_name, description, kind, switches),
        call_timeout_ms=call_timeout_ms,
        max_sync_handlers=max_sync_handlers,
        reconnect=reconnect or ReconnectOptions(),
        headers=headers or {},
        logger=logger or Logger(),
        telemetry=switches,
    )


def _check_options(name: str, call_timeout_ms: int | None, max_sync_handlers: int) -> None:
    problem = name_problem(name, "the worker's name")
    if problem is not None:
        raise ValueError(problem)
    if call_timeout_ms is not None:
        timeout_option(call_timeout_ms, "call_timeout_ms")
    if (
        isinstance(max_sync_handlers, bool)
        or not isinstance(max_sync_handlers, int)
        or not 1 <= max_sync_handlers <= 4096
    ):
        raise ValueError(f"max_sync_handlers must be a whole number from 1 to 4096, not {max_sync_handlers!r}")


def _introduction(name: str, description: str | None, kind: str, switches: Switches) -> dict[str, object]:
    introduction: dict[str, object] = {
        "runtime": "python",
        "version": VERSION,
        "name": name,
        "os": f"{platform.system()} {platform.release()} ({platform.machine()})",
        "pid": os.getpid(),
        "isolation": os.environ.get("SVC_ISOLATION") or None,
        "telemetry": {"language": os.environ.get("LANG", "").partition(".")[0] or None, "framework": "svc-python"},
        "kind": kind,
        "features": [feature for feature in FEATURES if switches.logs or feature != "logs"],
    }
    if description is not None:
        introduction["description"] = description
    return introduction
