from __future__ import annotations

import re
from pathlib import Path

README = Path(__file__).parent.parent / "README.md"


def test_the_samples_of_the_readme_are_python() -> None:
    samples = re.findall(r"^```python\n(.*?)^```$", README.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    assert len(samples) >= 5
    for number, sample in enumerate(samples):
        compile(sample, f"README.md, sample {number}", "exec")
