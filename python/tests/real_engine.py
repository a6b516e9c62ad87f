"""The built engine of this repository."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from svc.testing import TestEngine, start_test_engine

PROGRAM = Path(__file__).resolve().parents[2] / "packages" / "cli" / "bin" / "svc.js"


def start_real_engine(modules: Sequence[str] = (), config: Mapping[str, Any] | None = None) -> TestEngine:
    return start_test_engine(modules=modules, config=config, command=["node", str(PROGRAM)])
