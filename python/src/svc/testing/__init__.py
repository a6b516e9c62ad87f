"""An engine for your own tests: a separate process on free ports, with temporary data.

from svc.testing import start_test_engine

with start_test_engine(modules=["svc-state"]) as engine:
    worker = engine.connect()
    worker.state.set("scope", "key", 1)

With pytest, ``pytest_plugins = ["svc.testing.pytest_plugin"]`` in ``conftest.py`` provides fixtures.
"""

from .engine import EngineStartError, TestEngine, start_test_engine

__all__ = ["start_test_engine", "TestEngine", "EngineStartError"]
