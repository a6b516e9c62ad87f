from __future__ import annotations

import re
from pathlib import Path

import pytest

import svc
from real_engine import RealEngine

GUIDE = Path(__file__).resolve().parents[2] / "docs" / "guide" / "security.md"

CONFIG = """engine:
  bridge:
    rbac:
      auth_function_id: auth::check
"""


def test_the_auth_function_of_the_security_guide_decides_over_connections(monkeypatch: pytest.MonkeyPatch) -> None:
    [sample] = re.findall(r"^```python\n(.*?)^```$", GUIDE.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    with RealEngine(CONFIG) as engine:
        token = (engine.folder / ".svc" / "token").read_text("utf-8").strip()
        monkeypatch.setenv("SVC_URL", engine.address)
        # The worker that decides holds the engine's token; nobody else could provide the function.
        monkeypatch.setenv("SVC_TOKEN", token)
        names: dict[str, object] = {}
        exec(compile(sample, "security.md", "exec"), names)
        checker = names["worker"]
        assert isinstance(checker, svc.Worker)
        workers = [checker]
        try:
            checker.wait_connected(10)
            checker.register_function("orders::list", lambda _payload: ["one"])
            checker.register_function("secret", lambda _payload: "no")
            assert checker.call({"function_id": "orders::list"}) == ["one"]
            guest = svc.connect(engine.address, name="guest", headers={"authorization": "Bearer key-of-acme"})
            workers.append(guest)
            guest.wait_connected(10)
            assert guest.call({"function_id": "orders::list"}) == ["one"]
            with pytest.raises(svc.CallError) as denied:
                guest.call({"function_id": "secret"})
            assert denied.value.code == "FORBIDDEN"
        finally:
            for worker in workers:
                worker.shutdown(timeout_s=1)
