"""Workers as separate processes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from engine import Engine

SOURCE = Path(__file__).resolve().parents[1] / "src"

RUNS = """
import signal, sys, threading, svc
listens = threading.Event()
install = signal.signal

def noting(number, handler):
    before = install(number, handler)
    if number == signal.SIGINT:
        listens.set()
    return before

signal.signal = noting
worker = svc.connect(name="program")

@worker.function("slow::one")
def slow(input):
    listens.wait(10)
    print("began")
    return sys.stdin.readline()

worker.run()
print("ended")
"""

RUNS_ASYNC = """
import asyncio, signal, svc

async def main():
    worker = svc.connect(name="program")
    worker.function("slow::one")(lambda input: 1)

    def noting(number, handler, install=signal.signal):
        before = install(number, handler)
        if number == signal.SIGINT:
            print("listens")
        return before

    signal.signal = noting
    await worker.run_async()
    print("ended", worker.connection_state)

asyncio.run(main())
"""

FORGETS_TO_RUN = """
import svc
worker = svc.connect(name="program")
worker.function("a::b")(lambda input: 1)
worker.wait_connected()
"""

CALLS_ONCE = """
import svc
worker = svc.connect(name="program")
print(worker.call({"function_id": "no::such"}))
"""


def start(program: str, engine: Engine) -> subprocess.Popen[str]:
    environment = {**os.environ, "SVC_URL": engine.address, "PYTHONPATH": str(SOURCE), "PYTHONUNBUFFERED": "1"}
    pipe = subprocess.PIPE
    command = [sys.executable, "-c", program]
    return subprocess.Popen(command, env=environment, stdin=pipe, stdout=pipe, stderr=pipe, text=True)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_run_shuts_down_gracefully_on_a_signal(engine: Engine, number: signal.Signals) -> None:
    with start(RUNS, engine) as process:
        call = engine.call("slow::one")
        assert process.stdout is not None
        assert process.stdout.readline() == "began\n"
        process.send_signal(number)
        engine.peer().heard("unregisterfunction", id="slow::one")
        stdout, stderr = process.communicate("finished", timeout=15)
        assert engine.answer_to(call)["result"] == "finished"
    assert (process.returncode, stdout) == (0, "ended\n"), stderr
    assert f'"signal": "{number.name}"' in stderr


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_run_async_shuts_down_on_a_signal(engine: Engine, number: signal.Signals) -> None:
    with start(RUNS_ASYNC, engine) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "listens\n"
        engine.peer().heard("registerfunction", id="slow::one")
        process.send_signal(number)
        stdout, stderr = process.communicate(timeout=15)
    assert process.returncode == 0, stderr
    assert "ended closed" in stdout.splitlines()
    assert f'"signal": "{number.name}"' in stderr


def test_a_program_without_run_ends_with_a_warning(engine: Engine) -> None:
    with start(FORGETS_TO_RUN, engine) as process:
        _, stderr = process.communicate(timeout=15)
    assert process.returncode == 0
    assert "call worker.run() at its end" in stderr


def test_a_program_that_only_calls_ends_with_the_error(engine: Engine) -> None:
    began = time.monotonic()
    with start(CALLS_ONCE, engine) as process:
        _, stderr = process.communicate(timeout=15)
    assert process.returncode == 1
    assert "svc.errors.CallError: function_not_found: Function no::such not found" in stderr
    assert time.monotonic() - began < 10
