"""Runs the FastAPI sample of the guide to workers."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from typing import Any

import pytest

from svc.testing import TestEngine

GUIDE = Path(__file__).resolve().parents[2] / "docs" / "guide" / "workers.md"
SAMPLE = re.compile(r"^<!-- sample: fastapi -->\n```python\n(?P<program>.*?)^```$", re.MULTILINE | re.DOTALL)


async def get(app: Any, path: str) -> tuple[int, bytes]:
    """Sends a request to the application as a web server does."""
    sent: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    place = {"path": path, "raw_path": path.encode(), "root_path": "", "query_string": b"", "headers": []}
    scope = {"type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": "GET", "scheme": "http"}
    await app({**scope, **place, "server": ("localhost", 80), "client": ("localhost", 1)}, receive, send)
    return sent[0]["status"], b"".join(message.get("body", b"") for message in sent)


def test_the_fastapi_sample_connects_for_its_lifespan(real_engine: TestEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    sample = SAMPLE.search(GUIDE.read_text("utf-8"))
    assert sample is not None
    monkeypatch.setenv("SVC_URL", real_engine.url)
    program: dict[str, Any] = {}
    exec(compile(sample["program"], "the sample", "exec", dont_inherit=True), program)
    app = program["app"]

    async def main() -> None:
        async with app.router.lifespan_context(app):
            assert await get(app, "/prices/tea") == (200, b'{"item":"tea","price":3}')
            assert app.state.worker.connection_state == "connected"
        assert app.state.worker.connection_state == "closed"

    asyncio.run(main())
