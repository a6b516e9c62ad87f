from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import svc
from real_engine import start_real_engine

GUIDE = Path(__file__).resolve().parents[2] / "docs" / "guide" / "security.md"

CONFIG = {"engine": {"bridge": {"rbac": {"auth_function_id": "auth::check"}}}}


def test_the_auth_function_of_the_security_guide_decides_on_connections(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    [sample] = re.findall(r"^```python\n(.*?)^```$", GUIDE.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    program = tmp_path / "check.py"
    program.write_text(sample, "utf-8")
    with start_real_engine(config=CONFIG) as engine:
        token = (engine.folder / ".svc" / "token").read_text("utf-8").strip()
        monkeypatch.setenv("SVC_URL", engine.url)
        # The worker with the auth function has the engine's token; no other worker could provide the function.
        monkeypatch.setenv("SVC_TOKEN", token)
        with subprocess.Popen([sys.executable, str(program)]) as checker:
            trusted = svc.connect(engine.url, name="orders")
            # Rejected until the auth function is registered; the worker retries.
            guest = svc.connect(engine.url, name="guest", headers={"authorization": "Bearer key-of-acme"})
            try:
                trusted.wait_connected(10)
                trusted.register_function("orders::list", lambda _payload: ["one"])
                trusted.register_function("secret", lambda _payload: "no")
                assert trusted.call({"function_id": "orders::list"}) == ["one"]
                guest.wait_connected(20)
                assert guest.call({"function_id": "orders::list"}) == ["one"]
                with pytest.raises(svc.CallError) as denied:
                    guest.call({"function_id": "secret"})
                assert denied.value.code == "FORBIDDEN"
            finally:
                for worker in (guest, trusted):
                    worker.shutdown(timeout_s=1)
                checker.terminate()
            assert checker.wait(10) == 0
