"""The engine of this repository, as it is built."""

from __future__ import annotations

from pathlib import Path

from svc.testing import TestEngine, start_test_engine

PROGRAM = Path(__file__).resolve().parents[2] / "packages" / "cli" / "bin" / "svc.js"


def start_real_engine(config: str) -> TestEngine:
    return start_test_engine(config=config, command=["node", str(PROGRAM)])
