"""svc.testing: engines for users' own tests."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from real_engine import PROGRAM
from svc import CallError
from svc.testing import EngineStartError, start_test_engine
from svc.testing.command import svc_command

SOURCE = Path(__file__).resolve().parents[1] / "src"


@pytest.fixture(autouse=True)
def _this_svc(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SVC_BIN", str(PROGRAM))


def is_running(pid: int) -> bool:
    try:
        stat = Path(f"/proc/{pid}/stat").read_text("utf-8")
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] != "Z"


def test_an_engine_runs_within_the_block_and_is_removed_after_it() -> None:
    with start_test_engine(modules=["svc-http"]) as engine:
        worker = engine.connect("mine")
        worker.register_function("echo::it", lambda input: input)
        assert engine.connect("other").call({"function_id": "echo::it", "payload": 2**70}) == 2**70
        with urllib.request.urlopen(f"{engine.http_url}/healthz", timeout=10) as answer:
            assert answer.status == 200
        assert engine.streams_url.startswith("ws://")
        assert engine.folder.is_dir()
        assert is_running(engine.pid)
    assert not is_running(engine.pid)
    assert not engine.folder.exists()
    assert worker.connection_state == "closed"
    assert json.loads(engine.logs[-1])["message"] == "the engine has stopped"
    engine.stop()


def test_concurrent_engines_share_nothing() -> None:
    with start_test_engine(modules=["svc-state"]) as one, start_test_engine(modules=["svc-state"]) as other:
        assert one.url != other.url
        one.connect().state.set("s", "k", 1)
        assert one.connect().state.get("s", "k") == 1
        assert other.connect().state.get("s", "k") is None


def test_given_config_blocks_and_folder_are_used(tmp_path: Path) -> None:
    config = {
        "svc-state": {"adapter": {"name": "file_based"}, "max_value_bytes": 10},
        "engine": {"mode": "development"},
    }
    for value in (1, 2):
        with start_test_engine(modules=["svc-state"], config=config, folder=tmp_path) as engine:
            assert engine.connect().state.set("s", "k", value)["version"] == value
            with pytest.raises(CallError, match="max_value_bytes"):
                engine.connect().state.set("s", "k", "12345678901")
    assert (tmp_path / ".svc" / "data" / "state.db").is_file()
    with pytest.raises(ValueError, match="not loaded: svc-http"):
        start_test_engine(modules=["svc-state"], config={"svc-http": {}})


HOLDS_AN_ENGINE = """
import sys
from svc.testing import start_test_engine
engine = start_test_engine(modules=[])
print(engine.pid, flush=True)
sys.stdin.readline()
"""


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, None])
def test_no_engine_outlives_the_test_run(number: signal.Signals | None) -> None:
    environment = {**os.environ, "PYTHONPATH": str(SOURCE)}
    pipe = subprocess.PIPE
    with subprocess.Popen(
        [sys.executable, "-c", HOLDS_AN_ENGINE], env=environment, stdin=pipe, stdout=pipe, text=True
    ) as run:
        assert run.stdout is not None
        assert run.stdin is not None
        pid = int(run.stdout.readline())
        # Readable when the process has ended, which is not a child of this process.
        engine = os.pidfd_open(pid)
        try:
            assert is_running(pid)
            if number is None:
                run.stdin.write("\n")
                run.stdin.flush()
            else:
                run.send_signal(number)
            assert select.select([engine], [], [], 20)[0] == [engine]
        finally:
            os.close(engine)


def test_a_failed_start_reports_the_reason() -> None:
    with pytest.raises(EngineStartError, match=r'no module is called "svc-nope"'):
        start_test_engine(modules=["svc-nope"])
    with pytest.raises(EngineStartError, match="/no/such/svc cannot be started: "):
        start_test_engine(command=["/no/such/svc"])
    with pytest.raises(EngineStartError, match=r"not up within 0\.2 s; it said:\nnothing"):
        start_test_engine(command=[sys.executable, "-c", "input()"], start_timeout_s=0.2)


def test_without_svc_the_error_names_the_searched_places(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("SVC_BIN")
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    with pytest.raises(EngineStartError, match=r"not found on PATH nor in node_modules/\.bin; set SVC_BIN"):
        start_test_engine()


def test_svc_is_found_by_variable_path_or_node_modules(tmp_path: Path) -> None:
    program = tmp_path / "node_modules" / ".bin" / "svc"
    program.parent.mkdir(parents=True)
    program.write_text("#!/bin/sh\n", "utf-8")
    program.chmod(0o755)
    below = tmp_path / "a" / "b"
    below.mkdir(parents=True)
    assert svc_command({"PATH": "/nowhere"}, below) == [str(program)]
    assert svc_command({"PATH": str(program.parent)}, Path("/")) == [str(program)]
    assert svc_command({"PATH": str(program.parent), "SVC_BIN": "/opt/svc"}, below) == ["/opt/svc"]
    assert svc_command({"SVC_BIN": "/opt/svc.js"}, below) == ["node", "/opt/svc.js"]
    assert svc_command({"PATH": "/nowhere"}, Path("/")) is None


USES_THE_PLUGIN = """
import pytest

pytest_plugins = ["svc.testing.pytest_plugin"]

@pytest.fixture(scope="session")
def svc_engine_options():
    return {"modules": ["svc-state"]}
"""

TESTS = """
def test_counts(svc_worker):
    svc_worker.state.set("test_counts", "n", 41)
    assert svc_worker.state.get("test_counts", "n") == 41

def test_another_shares_the_engine_but_not_the_worker(svc_worker, svc_engine):
    assert svc_worker.id != svc_engine.connect().id
"""


def test_the_plugin_provides_an_engine_and_workers(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text(USES_THE_PLUGIN, "utf-8")
    (tmp_path / "test_mine.py").write_text(TESTS, "utf-8")
    environment = {**os.environ, "PYTHONPATH": str(SOURCE)}
    command = [sys.executable, "-m", "pytest", "-q", "-W", "error", "-p", "no:cacheprovider", str(tmp_path)]
    ran = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=50, check=False
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "2 passed" in ran.stdout
