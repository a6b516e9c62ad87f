"""Starts and stops the engine's process."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import signal
import subprocess
import tempfile
import threading
import time
from collections import deque
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from svc.connect_worker import connect
from svc.worker import Worker

from .command import svc_command

_KEEPS_DATA = ("svc-state", "svc-stream", "svc-queue")
_STOP_DEADLINE_S = 15.0
_MAX_LOG_LINES = 10_000
_WORKER_GRACE_S = 1.0


class EngineStartError(RuntimeError):
    """The engine did not start. The message contains its output."""


class TestEngine:
    """A running engine. It stops when its ``with`` block or this process ends. Created by ``start_test_engine``.

    Attributes:
        url: Address for workers, e.g. ``ws://localhost:40123``.
        http_url: Address of the HTTP API, e.g. ``http://localhost:40124``.
        streams_url: Address of streams, e.g. ``ws://localhost:40125``.
        folder: Its project folder, with ``config.yaml``. A temporary folder is deleted when the engine stops.
        logs: The last 10,000 lines of its log, one JSON object each.
    """

    #: Otherwise pytest collects classes of this name as tests.
    __test__ = False

    def __init__(
        self,
        command: Sequence[str],
        config: Mapping[str, Any],
        *,
        env: Mapping[str, str],
        folder: Path | None,
        start_timeout_s: float,
    ) -> None:
        self._stopped = False
        self._workers: list[Worker] = []
        self.logs: deque[str] = deque(maxlen=_MAX_LOG_LINES)
        #: Log lines until the engine has started; None after the last line.
        self._lines: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        self._is_starting = True
        self._temporary: tempfile.TemporaryDirectory[str] | None = None
        if folder is None:
            self._temporary = tempfile.TemporaryDirectory(prefix="svc-test-", ignore_cleanup_errors=True)
            folder = Path(self._temporary.name)
        self.folder = folder
        try:
            # JSON is valid YAML.
            (self.folder / "config.yaml").write_text(json.dumps(config), "utf-8")
            self._process = _start(command, self.folder, env)
        except BaseException:
            self._remove_folder()
            raise
        self._reader = threading.Thread(target=self._read_log, name="svc-test-engine-log", daemon=True)
        self._reader.start()
        try:
            facts = self._wait_until_up(time.monotonic() + start_timeout_s, start_timeout_s)
        except BaseException:
            self.stop()
            raise
        self._is_starting = False
        self.url: str = facts["bridge"]
        self.http_url: str = facts["http"]
        self.streams_url: str = facts["realtime"]

    @property
    def pid(self) -> int:
        return self._process.pid

    def connect(self, name: str = "test", **options: Any) -> Worker:
        """Connects a worker to this engine. It is shut down with the engine. Options: those of ``svc.connect``."""
        worker = connect(self.url, name=name, **options)
        self._workers.append(worker)
        worker.wait_connected()
        return worker

    def stop(self) -> None:
        """Shuts down its workers, stops the engine and removes its folder. Does nothing the second time."""
        if self._stopped:
            return
        self._stopped = True
        try:
            for worker in self._workers:
                worker.shutdown(_WORKER_GRACE_S)
        finally:
            self._end_process()
            self._remove_folder()

    def __enter__(self) -> TestEngine:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _wait_until_up(self, deadline: float, timeout_s: float) -> dict[str, Any]:
        while True:
            try:
                line = self._lines.get(timeout=max(0.0, deadline - time.monotonic()))
            except queue.Empty:
                raise EngineStartError(
                    f"the engine was not up within {timeout_s:g} s; it said:\n{self._output()}"
                ) from None
            if line is None:
                raise EngineStartError(f"the engine did not start; it said:\n{self._output()}")
            with contextlib.suppress(ValueError):
                facts = json.loads(line)
                if isinstance(facts, dict) and facts.get("message") == "the engine is up":
                    return facts

    def _output(self) -> str:
        return "".join(self.logs) or "nothing"

    def _read_log(self) -> None:
        assert self._process.stderr is not None
        with self._process.stderr as stderr:
            for line in stderr:
                self.logs.append(line)
                if self._is_starting:
                    self._lines.put(line)
        self._lines.put(None)

    def _remove_folder(self) -> None:
        if self._temporary is not None:
            self._temporary.cleanup()

    def _end_process(self) -> None:
        assert self._process.stdin is not None
        with contextlib.suppress(OSError):
            self._process.stdin.close()
        try:
            self._process.wait(_STOP_DEADLINE_S)
        except subprocess.TimeoutExpired:
            _kill(self._process)
            self._process.wait(_STOP_DEADLINE_S)
        self._reader.join(_STOP_DEADLINE_S)


def start_test_engine(
    *,
    modules: Sequence[str] = (),
    config: Mapping[str, Any] | None = None,
    env: Mapping[str, str] | None = None,
    folder: str | Path | None = None,
    command: Sequence[str] | None = None,
    start_timeout_s: float = 30.0,
) -> TestEngine:
    """Starts an engine on free loopback ports, with its own project folder, and returns when it is ready.

    It stops with its ``with`` block, and whenever this process ends.

    Args:
        modules: Modules to load, e.g. ``["svc-http", "svc-state", "svc-stream"]``.
        config: Config blocks by module, as in ``config.yaml``, and ``engine`` for the block of that name.
            ``svc-state``, ``svc-stream`` and ``svc-queue`` store their data in memory unless their block has an
            ``adapter``.
        env: Added to this process's environment, without its variables that begin with ``SVC_``, except ``SVC_TOKEN``.
        folder: An existing folder, to keep data from one engine to the next. Default: a temporary folder.
        command: Command and arguments that start svc. Default: ``SVC_BIN``, ``svc`` on ``PATH``, or in
            ``node_modules/.bin`` of this folder or its parents.
        start_timeout_s: Maximum time until the engine is ready.

    Raises:
        EngineStartError: ``svc`` was not found or did not start. The message says why.
        ValueError: ``config`` has a block of a module that is not loaded.
    """
    project = _project(modules, dict(config or {}))
    words = svc_command() if command is None else list(command)
    if not words:
        raise EngineStartError(
            "the command svc was not found on PATH nor in node_modules/.bin; set SVC_BIN to it, e.g. "
            "SVC_BIN=/path/to/svc/node_modules/.bin/svc"
        )
    inherited = {
        name: value for name, value in os.environ.items() if not name.startswith("SVC_") or name == "SVC_TOKEN"
    }
    return TestEngine(
        words,
        project,
        env={**inherited, **(env or {})},
        folder=None if folder is None else Path(folder),
        start_timeout_s=start_timeout_s,
    )


def _project(modules: Sequence[str], blocks: dict[str, Any]) -> dict[str, Any]:
    """Returns the content of ``config.yaml``."""
    engine = blocks.pop("engine", None)
    workers = [{"name": name, "config": _block(name, blocks.pop(name, {}))} for name in modules]
    if blocks:
        raise ValueError(f"config has blocks of modules that are not loaded: {', '.join(blocks)}")
    return {"workers": workers} if engine is None else {"engine": engine, "workers": workers}


def _block(name: str, block: Mapping[str, Any]) -> dict[str, Any]:
    return {**({"adapter": {"name": "in_memory"}} if name in _KEEPS_DATA else {}), **block}


def _start(command: Sequence[str], folder: Path, env: Mapping[str, str]) -> subprocess.Popen[str]:
    # The engine stops when its stdin closes, which the system does whenever this process ends. In its own session it
    # does not receive Ctrl-C, so it runs until the tests have ended.
    ports = ("--bridge-port", "0", "--http-port", "0", "--ws-port", "0")
    words = [*command, "--config", "config.yaml", "--log", "json", "--stop-with-stdin", *ports]
    pipe = subprocess.PIPE
    try:
        return subprocess.Popen(
            words,
            cwd=folder,
            env=dict(env),
            stdin=pipe,
            stdout=subprocess.DEVNULL,
            stderr=pipe,
            text=True,
            encoding="utf-8",
            errors="replace",
            start_new_session=True,
        )
    except OSError as cause:
        raise EngineStartError(f"{words[0]} cannot be started: {cause}") from cause


def _kill(process: subprocess.Popen[str]) -> None:
    """Kills the whole process group, since the command may be a script that started the engine."""
    if os.name == "posix":
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    process.kill()
