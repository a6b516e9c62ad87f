"""The real engine as a process of its own, with free ports and a project folder that is gone behind it."""

from __future__ import annotations

import json
import os
import queue
import subprocess
import tempfile
import threading
from pathlib import Path

PROGRAM = Path(__file__).resolve().parents[2] / "packages" / "cli" / "bin" / "svc.js"
START_DEADLINE_S = 30.0
STOP_DEADLINE_S = 15.0


class RealEngine:
    def __init__(self, config: str) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="svc-python-")
        self.folder = folder = Path(self._folder.name)
        (folder / "config.yaml").write_text(config, "utf-8")
        ports = ("--bridge-port", "0", "--http-port", "0", "--ws-port", "0")
        # It stops with our end of its standard input, whatever ends this process.
        command = ["node", str(PROGRAM), "--config", "config.yaml", "--log", "json", "--stop-with-stdin", *ports]
        pipe = subprocess.PIPE
        environment = {name: value for name, value in os.environ.items() if not name.startswith("SVC_")}
        self._process = subprocess.Popen(
            command, cwd=folder, env=environment, stdin=pipe, stdout=subprocess.DEVNULL, stderr=pipe, text=True
        )
        self.log: list[str] = []
        self._lines: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        threading.Thread(target=self._read_log, daemon=True).start()
        while True:
            line = self._lines.get(timeout=START_DEADLINE_S)
            if line is None:
                raise AssertionError(f"the engine ended at once (is it built? npm run build): {''.join(self.log)}")
            if "the engine is up" in line:
                break
        addresses = json.loads((folder / ".svc" / "data" / "engine.json").read_text("utf-8"))
        self.address: str = addresses["bridge"]
        self.http: str = addresses["http"]

    def _read_log(self) -> None:
        assert self._process.stderr is not None
        for line in self._process.stderr:
            self.log.append(line)
            self._lines.put(line)
        self._lines.put(None)

    def __enter__(self) -> RealEngine:
        return self

    def __exit__(self, *_: object) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            self._process.wait(STOP_DEADLINE_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait(STOP_DEADLINE_S)
        while self._lines.get(timeout=STOP_DEADLINE_S) is not None:
            pass
        assert self._process.stderr is not None
        self._process.stderr.close()
        self._folder.cleanup()
