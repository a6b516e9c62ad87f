"""The Python samples of the channels guide print the output that the guide shows."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from svc.testing import TestEngine

ROOT = Path(__file__).resolve().parents[2]
SAMPLE = re.compile(
    r"^<!-- sample: (?P<name>[\w-]+) -->\n```python\n(?P<program>.*?)^```\n\n```text\n(?P<output>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
SAMPLES = [
    pytest.param(sample["program"], sample["output"], id=sample["name"])
    for file in sorted((ROOT / "docs" / "guide").glob("channels*.md"))
    for sample in SAMPLE.finditer(file.read_text("utf-8"))
]


def test_the_guide_has_samples() -> None:
    assert len(SAMPLES) >= 3


@pytest.mark.parametrize(("program", "output"), SAMPLES)
def test_a_sample_prints_what_the_guide_says(real_engine: TestEngine, program: str, output: str) -> None:
    environment = {**os.environ, "SVC_URL": real_engine.url, "PYTHONPATH": str(ROOT / "python" / "src")}
    command = [sys.executable, "-W", "error", "-c", program]
    ran = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=30)
    assert ran.stdout == output, ran.stderr
    assert ran.returncode == 0, ran.stderr
