from __future__ import annotations

import faulthandler
import os
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import svc
from engine import Engine
from real_engine import start_real_engine
from svc.testing import TestEngine

TEST_DEADLINE_S = 60.0
# Duplicated before pytest captures it.
_STDERR = os.dup(2)


@pytest.fixture(autouse=True)
def deadline() -> Iterator[None]:
    """Ends the run with the stacks of all threads if a test hangs."""
    faulthandler.dump_traceback_later(TEST_DEADLINE_S, exit=True, file=_STDERR)
    yield
    faulthandler.cancel_dump_traceback_later()


@pytest.fixture(autouse=True)
def _clean_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("SVC_URL", "SVC_TOKEN", "SVC_WORKER_NAME", "SVC_LOG_LEVEL", "SVC_ISOLATION", "SVC_TELEMETRY"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def engine() -> Iterator[Engine]:
    engine = Engine()
    yield engine
    engine.stop()


@pytest.fixture
def lines() -> list[str]:
    """Log lines of the workers of this test."""
    return []


@pytest.fixture
def connect(engine: Engine, lines: list[str]) -> Iterator[Callable[..., svc.Worker]]:
    """Connects workers to the engine, waits until they are registered, and shuts them down after the test."""
    yield from _connecting(engine.address, lines)


@pytest.fixture(scope="session")
def real_engine() -> Iterator[TestEngine]:
    with start_real_engine(["svc-http"]) as engine:
        yield engine


@pytest.fixture(scope="session")
def keeping_engine() -> Iterator[TestEngine]:
    """The real engine with state and streams. Each test must use its own scopes and streams."""
    with start_real_engine(["svc-state", "svc-stream"]) as engine:
        yield engine


@pytest.fixture(scope="session")
def background_engine() -> Iterator[TestEngine]:
    """The real engine with cron, events and queues. Each test must use its own functions, topics and queues."""
    with start_real_engine(["svc-cron", "svc-event", "svc-queue"]) as engine:
        yield engine


@pytest.fixture
def connect_real(real_engine: TestEngine, lines: list[str]) -> Iterator[Callable[..., svc.Worker]]:
    """As ``connect``, to the real engine, which the whole run shares. Each test must use its own ids."""
    yield from _connecting(real_engine.url, lines)


@pytest.fixture
def connect_keeping(keeping_engine: TestEngine, lines: list[str]) -> Iterator[Callable[..., svc.Worker]]:
    """As ``connect``, to the real engine with state and streams."""
    yield from _connecting(keeping_engine.url, lines)


@pytest.fixture
def connect_background(background_engine: TestEngine, lines: list[str]) -> Iterator[Callable[..., svc.Worker]]:
    """As ``connect``, to the real engine with cron, events and queues."""
    yield from _connecting(background_engine.url, lines)


def _connecting(address: str, lines: list[str]) -> Iterator[Callable[..., svc.Worker]]:
    workers: list[svc.Worker] = []

    def connect(name: str = "probe", **options: Any) -> svc.Worker:
        options.setdefault("reconnect", svc.ReconnectOptions(initial_delay_ms=10, max_delay_ms=50))
        options.setdefault("logger", svc.Logger(level="debug", write=lines.append))
        worker = svc.connect(address, name=name, **options)
        workers.append(worker)
        worker.wait_connected(10)
        return worker

    yield connect
    for worker in workers:
        worker.shutdown(timeout_s=1)
