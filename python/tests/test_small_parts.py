from __future__ import annotations

import json
import pickle

import pytest

from svc.address import DEFAULT_ADDRESS, resolve_addresses, without_credentials
from svc.backoff import Backoff, ReconnectOptions
from svc.effects import TriggerResult, TriggerStatus
from svc.errors import CallError
from svc.logger import Logger
from svc.loop_bridge import LoopBridge
from svc.loop_thread import LoopThread
from svc.protocol import ERROR_CODES
from svc.triggers import Trigger, Triggers


def test_the_address_is_the_argument_else_the_variable_else_the_default(monkeypatch: pytest.MonkeyPatch) -> None:
    assert resolve_addresses() == (DEFAULT_ADDRESS,) == ("ws://localhost:49134",)
    monkeypatch.setenv("SVC_URL", " ws://engine:1 ")
    assert resolve_addresses() == ("ws://engine:1",)
    assert resolve_addresses("wss://svc:tok@other/path?x=1") == ("wss://svc:tok@other/path?x=1",)
    assert resolve_addresses("ws://svc:a,b@one:1, WSS://two:2") == ("ws://svc:a,b@one:1", "WSS://two:2")
    with pytest.raises(ValueError, match="more than 16 addresses"):
        resolve_addresses(",".join(["ws://one"] * 17))
    assert without_credentials("wss://svc:tok@other/path?x=1") == "wss://other/path?…"


@pytest.mark.parametrize(
    "address", ["", "localhost:49134", "http://localhost", "ws://", "ws://h:99999", "ws://h#x", "ws://a,b"]
)
def test_an_invalid_address_is_rejected_with_its_source(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ValueError, match="the address argument"):
        resolve_addresses(address)
    if address:
        monkeypatch.setenv("SVC_URL", address)
        with pytest.raises(ValueError, match="the environment variable SVC_URL"):
            resolve_addresses()


def test_backoff_doubles_up_to_a_cap_with_jitter_until_reset() -> None:
    backoff = Backoff(ReconnectOptions(), lambda: 0.5)
    assert [backoff.next_delay_s() for _ in range(7)] == [1, 2, 4, 8, 16, 30, 30]
    backoff.reset()
    assert backoff.next_delay_s() == 1
    assert Backoff(ReconnectOptions(), lambda: 0.0).next_delay_s() == 0.7
    assert Backoff(ReconnectOptions(), lambda: 1.0).next_delay_s() == 1.3
    assert Backoff(ReconnectOptions(initial_delay_ms=30_000), lambda: 1.0).next_delay_s() == 30
    assert Backoff(ReconnectOptions(max_attempts=0), lambda: 0.5).next_delay_s() is None
    with pytest.raises(ValueError, match=r"reconnect\.jitter must be a number from 0 to 1, not 2"):
        ReconnectOptions(jitter=2)


def test_backoff_keeps_the_cap_after_many_attempts() -> None:
    backoff = Backoff(ReconnectOptions(multiplier=100), lambda: 0.5)
    assert {backoff.next_delay_s() for _ in range(2_000)} == {1, 30}


def test_errors_have_the_properties_of_their_code() -> None:
    error = CallError("call_timeout", "late", {"timeout_ms": 5})
    assert (error.retryable, error.executed, error.http_status) == (True, "unknown", 504)
    assert str(error) == "call_timeout: late"
    own = CallError("out_of_stock", "none left")
    assert (own.retryable, own.executed, own.http_status) == (False, "yes", 500)
    assert CallError("invalid_input", "line 2", {"executed": "yes"}).executed == "yes"
    assert CallError("invalid_input", "line 2", {"executed": []}).executed == "no"
    assert all(executed in ("no", "unknown", "yes") for _, _, executed, _ in ERROR_CODES.values())


def test_errors_survive_pickling() -> None:
    copy = pickle.loads(pickle.dumps(CallError("a", "b", {"c": 1}, "d")))
    assert (copy.code, copy.message, copy.details, copy.stacktrace) == ("a", "b", {"c": 1}, "d")


def test_an_exception_whose_str_fails_becomes_an_error() -> None:
    class Sulking(Exception):
        def __str__(self) -> str:
            raise RuntimeError("no")

    error = CallError.from_exception(Sulking())
    assert (error.code, error.message) == ("invocation_failed", "Sulking")


@pytest.mark.parametrize(
    ("raised", "message"),
    [
        (KeyError("a"), "KeyError: 'a'"),
        (RuntimeError("boom"), "RuntimeError: boom"),
        (Exception("boom"), "boom"),
        (Exception(), "Exception"),
        (AssertionError(), "AssertionError"),
    ],
)
def test_an_exception_names_its_type_unless_it_is_exception(raised: Exception, message: str) -> None:
    assert CallError.from_exception(raised).message == message


def test_an_error_whose_str_fails_is_logged_with_its_stack() -> None:
    class Sulking(Exception):
        def __str__(self) -> str:
            raise RuntimeError("no")

    lines: list[str] = []
    Logger(write=lines.append).error("failed", error=Sulking())
    error = json.loads(lines[0])["error"]
    assert (error["type"], error["message"]) == ("Sulking", "")
    assert "Sulking" in error["stack"]


def test_a_log_line_is_one_json_object_with_fixed_first_members() -> None:
    lines: list[str] = []
    log = Logger({"worker": "w"}, level="info", write=lines.append).with_fields(function_id="a::b")
    log.debug("not shown")
    log.info("order paid", order_id=7, level="forged", what=object(), error=ValueError("boom"))
    (line,) = lines
    record = json.loads(line)
    assert list(record)[:3] == ["time", "level", "message"]
    assert (record["level"], record["message"], record["worker"], record["order_id"]) == ("info", "order paid", "w", 7)
    assert record["error"]["message"] == "boom"
    assert record["what"].startswith("<object")


def test_logging_never_raises(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SVC_LOG_LEVEL", "warn")
    cycle: list[object] = []
    cycle.append(cycle)
    Logger().warn("odd", cycle=cycle)
    Logger().info("too quiet")
    Logger().warn("half \ud800 pair")
    shown = capsys.readouterr().err.splitlines()
    assert len(shown) == 2
    assert "fields_error" in json.loads(shown[0])

    def failing(_: str) -> None:
        raise OSError("disk full")

    Logger(write=failing).error("lost")


def test_a_failure_of_an_active_trigger_is_not_a_rejection() -> None:
    lines: list[str] = []
    loop = LoopThread("test")
    triggers = Triggers(Logger(level="error", write=lines.append))
    words: dict[str, tuple[TriggerStatus, TriggerStatus]] = {
        "stood": ("active", "error"),
        "refused": ("inactive", "error"),
    }
    for id, statuses in words.items():
        triggers.add(Trigger(id, "own", "f", unregister=lambda trigger: None, bridge=LoopBridge(loop)))
        for status in statuses:
            triggers.settle(TriggerResult(id, status, "why", None))
    assert len(lines) == 2
    assert "a trigger failed" in lines[0]
    assert "the engine rejected a trigger" in lines[1]
    loop.stop(10)
