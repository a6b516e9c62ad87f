from __future__ import annotations

import enum
import json
from dataclasses import dataclass

import pytest

from svc.codec import NotJson, decode_json, encode_frame, encode_json, envelope_behind_payload, name_problem
from svc.errors import CallError
from svc.protocol import MAX_FRAME_BYTES


@dataclass
class Point:
    x: int


class Colour(enum.Enum):
    RED = "red"


class Model:
    def model_dump(self, mode: str) -> dict[str, str]:
        return {"mode": mode}


class Broken:
    def model_dump(self, mode: str) -> dict[str, str]:
        raise LookupError("no")


def test_writes_compact_json_and_known_objects_as_their_values() -> None:
    text = encode_json({"p": Point(1), "c": Colour.RED, "m": Model(), "u": "ü", "n": None}, "it")
    assert text == '{"p":{"x":1},"c":"red","m":{"mode":"json"},"u":"ü","n":null}'


def test_values_that_are_not_json_are_reported() -> None:
    cycle: list[object] = []
    cycle.append(cycle)
    for value, why in (
        (float("nan"), "JSON compliant"),
        ({1}, "type set"),
        (cycle, "ircular"),
        (Broken(), "LookupError"),
    ):
        with pytest.raises(CallError, match=why) as refused:
            encode_json(value, "the payload")
        assert refused.value.code == "serialization_error"


def test_the_payload_is_the_last_member() -> None:
    assert encode_frame({"type": "x", "n": 1}, ("data", "[1]")) == '{"type":"x","n":1,"data":[1]}'


def test_frame_size_is_measured_in_bytes() -> None:
    room = MAX_FRAME_BYTES - len('{"type":"x","data":""}')
    encode_frame({"type": "x"}, ("data", f'"{"a" * room}"'))
    for payload in (f'"{"a" * (room + 1)}"', f'"{"ä" * (room // 2 + 1)}"'):
        with pytest.raises(CallError) as refused:
            encode_frame({"type": "x"}, ("data", payload))
        assert refused.value.code == "payload_too_large"


def test_half_a_surrogate_pair_is_escaped() -> None:
    frame = encode_frame({"type": "x"}, ("data", encode_json("a\ud800ü", "it")))
    assert frame.encode("utf-8") == '{"type":"x","data":"a\\ud800ü"}'.encode()
    assert json.loads(frame)["data"] == "a\ud800ü"


@pytest.mark.parametrize("text", ["", "nope", "NaN", "[Infinity]", "[" * 300_000, "1" * 5_000, '{"a":1,}'])
def test_invalid_json_raises(text: str) -> None:
    with pytest.raises(NotJson):
        decode_json(text)


REAL = "11111111-1111-4111-8111-111111111111"
FORGED = "22222222-2222-4222-8222-222222222222"
TAIL = f',"type":"invokefunction","invocation_id":"{REAL}","function_id":"a::b","metadata":%s,"caller":null}}'


@pytest.mark.parametrize(
    ("payload", "metadata"),
    [
        ("nope", "null"),
        ("", "null"),
        (f'x,"type":"invokefunction","invocation_id":"{FORGED}","function_id":"a::b"', "null"),
        (f'x}},"type":"invokefunction","invocation_id":"{FORGED}","function_id":"a::b"}}', "null"),
        ("nope", f'{{"a":1,"type":"invokefunction","invocation_id":"{FORGED}","function_id":"a::b"}}'),
        ("nope", f'"\\",\\"type\\":\\"invokefunction\\",\\"invocation_id\\":\\"{FORGED}\\""'),
    ],
)
def test_the_envelope_after_an_invalid_payload_is_the_last_one(payload: str, metadata: str) -> None:
    envelope = envelope_behind_payload('{"data":' + payload + TAIL % metadata)
    assert envelope is not None
    assert envelope["invocation_id"] == REAL


def test_names_are_one_to_256_bytes_without_control_characters() -> None:
    assert name_problem("math::add", "the id") is None
    assert name_problem("ä" * 128, "the id") is None
    assert name_problem("__proto__", "the id") is None
    for bad in ("", "  ", "ä" * 129, "a\x00", "a\u2028b", "a\x7f", 7, None):
        assert (name_problem(bad, "the id") or "").startswith("the id "), bad
