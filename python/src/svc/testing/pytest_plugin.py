"""Fixtures for pytest. In ``conftest.py``:

pytest_plugins = ["svc.testing.pytest_plugin"]
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from svc.worker import Worker

from .engine import TestEngine, start_test_engine


@pytest.fixture(scope="session")
def svc_engine_options() -> dict[str, Any]:
    """Arguments of ``start_test_engine`` for ``svc_engine``. Override it in your ``conftest.py``."""
    return {"modules": ["svc-http", "svc-state", "svc-stream"]}


@pytest.fixture(scope="session")
def svc_engine(svc_engine_options: dict[str, Any]) -> Iterator[TestEngine]:
    """One engine for the whole run. Tests share its data, so each should use its own scopes and ids."""
    with start_test_engine(**svc_engine_options) as engine:
        yield engine


@pytest.fixture
def svc_worker(svc_engine: TestEngine) -> Iterator[Worker]:
    """A worker connected to ``svc_engine``, shut down after the test."""
    worker = svc_engine.connect()
    yield worker
    worker.shutdown(timeout_s=1)
