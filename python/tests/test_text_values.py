from __future__ import annotations

import enum
from typing import Annotated, Any, Literal

import pytest

from svc.conversion import UnreadText, convert
from svc.text_values import read_text


class Level(enum.Enum):
    LOW = 1
    HIGH = "high"


@pytest.mark.parametrize(
    ("text", "hint", "value"),
    [
        ("7", int, 7),
        ("-7", int, -7),
        ("7.0", int, "7.0"),
        ("1_000", int, "1_000"),
        ("9" * 5_000, int, "9" * 5_000),
        ("1e3", float, 1000.0),
        ("nan", float, "nan"),
        ("1e999", float, "1e999"),
        (".5", float, 0.5),
        ("5.", float, 5.0),
        ("\u0663", int, "\u0663"),
        ("Yes", bool, True),
        ("0", bool, False),
        ("7", str, "7"),
        ("7", Any, "7"),
        ("7", int | None, 7),
        ("seven", int | None, "seven"),
        ("seven", int | str, "seven"),
        ("7", str | int, 7),
        ("true", Annotated[bool, "whether"], True),
        ("2", Literal[1, 2], 2),
        ("true", Literal["true", True], "true"),
        ("all", int | Literal["all"], "all"),
        ("high", Annotated[Level, "how"] | int, "high"),
        ("3", Literal[1, 2], "3"),
        ("1", Level, 1),
        ("high", Level, "high"),
        (["1", "x"], list[int], [1, "x"]),
        ({"a": "1"}, dict[str, int], {"a": 1}),
        (["1"], int, ["1"]),
        (None, int, None),
    ],
)
def test_text_is_read_as_its_hint_says(text: object, hint: object, value: object) -> None:
    read = read_text(text, hint)
    assert read == value
    assert isinstance(read, type(value))


@pytest.mark.parametrize("hint", [int | Literal["all"], Literal["all"] | int, Annotated[Literal["all"], ""] | float])
def test_a_literal_beside_a_number_is_a_match(hint: object) -> None:
    assert convert(read_text("all", hint), hint) == "all"


def test_a_long_text_is_read_in_linear_time() -> None:
    text = "1" * 1_000_000 + "x"  # in quadratic time this would take hours
    assert isinstance(read_text(text, float), UnreadText)
