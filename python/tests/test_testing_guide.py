"""Runs the Python part of the testing guide."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from real_engine import PROGRAM

ROOT = Path(__file__).resolve().parents[2]
GUIDE = ROOT / "docs" / "guide" / "testing.md"
FILE = re.compile(r"^```python\n# (?P<name>\w+\.py)\n(?P<code>.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    for file in FILE.finditer(GUIDE.read_text("utf-8")):
        (tmp_path / file["name"]).write_text(file["code"], "utf-8")
    return tmp_path


def run(project: Path, *arguments: str) -> str:
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "python" / "src"), "SVC_BIN": str(PROGRAM)}
    command = [sys.executable, "-W", "error", *arguments]
    ran = subprocess.run(command, cwd=project, env=environment, capture_output=True, text=True, timeout=50, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout


def test_the_tests_of_the_guide_pass(project: Path) -> None:
    assert "1 passed" in run(project, "-m", "pytest", "-q", "-p", "no:cacheprovider")


def test_the_program_of_the_guide_prints_the_expected_output(project: Path) -> None:
    assert run(project, "check_carts.py") == "1\n"
