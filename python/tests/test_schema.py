from __future__ import annotations

import enum
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, Optional, TypedDict, Union

import pytest

from svc.conversion import Mismatch, convert, wants_conversion
from svc.errors import CallError
from svc.schema import schema_of


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


class _Address(TypedDict):
    street: str


class Address(_Address, total=False):
    zip: int


@dataclass
class Item:
    name: str
    count: int = 1
    price: float = 0.0
    colour: Colour | None = None
    tags: list[str] = field(default_factory=list)
    hidden: int = field(default=7, init=False)


@dataclass
class Order:
    items: list[Item]
    by_key: dict[str, Item] = field(default_factory=dict)
    pair: tuple[int, str] = (0, "")
    mode: Literal["fast", "slow"] = "fast"
    parent: Optional[Order] = None  # noqa: UP045 - the older spelling has to work too


class Model:
    def __init__(self, value: object) -> None:
        self.value = value

    @classmethod
    def model_json_schema(cls) -> dict[str, object]:
        return {"title": "Model", "type": "object"}

    @classmethod
    def model_validate(cls, value: object) -> Model:
        if value == "bad":
            raise ValueError("it is bad")
        return cls(value)


class Unknown:
    pass


@pytest.mark.parametrize(
    ("hint", "schema"),
    [
        (str, {"type": "string"}),
        (int, {"type": "integer"}),
        (float, {"type": "number"}),
        (bool, {"type": "boolean"}),
        (None, {"type": "null"}),
        (list, {"type": "array"}),
        (list[int], {"type": "array", "items": {"type": "integer"}}),
        (Sequence[str], {"type": "array", "items": {"type": "string"}}),
        (tuple[int, ...], {"type": "array", "items": {"type": "integer"}}),
        (
            tuple[int, str],
            {"type": "array", "prefixItems": [{"type": "integer"}, {"type": "string"}], "minItems": 2, "maxItems": 2},
        ),
        (dict[str, int], {"type": "object", "additionalProperties": {"type": "integer"}}),
        (Mapping[str, Any], {"type": "object"}),
        (Optional[int], {"anyOf": [{"type": "integer"}, {"type": "null"}]}),  # noqa: UP045
        (Union[int, str], {"anyOf": [{"type": "integer"}, {"type": "string"}]}),  # noqa: UP007
        (int | None, {"anyOf": [{"type": "integer"}, {"type": "null"}]}),
        (Literal["a", 1], {"enum": ["a", 1]}),
        (Colour, {"enum": ["red", "blue"]}),
        (Annotated[int, "Age in years"], {"type": "integer", "description": "Age in years"}),
        (Model, {"title": "Model", "type": "object"}),
        (
            Address,
            {
                "type": "object",
                "title": "Address",
                "properties": {"street": {"type": "string"}, "zip": {"type": "integer"}},
                "required": ["street"],
            },
        ),
        (Any, None),
        (object, None),
        (Unknown, None),
        (set[int], None),
        (int | Unknown, None),
        ("not a type", None),
        (7, None),
        (list[Unknown], {"type": "array"}),
    ],
)
def test_hints_become_json_schema(hint: object, schema: object) -> None:
    assert schema_of(hint) == schema


def test_a_recursive_dataclass_is_described_once() -> None:
    schema = schema_of(Order)
    assert schema is not None
    properties = schema["properties"]
    assert isinstance(properties, dict)
    assert properties["parent"] == {"anyOf": [{"type": "object"}, {"type": "null"}]}
    assert schema["required"] == ["items"]
    item = properties["items"]["items"]
    assert list(item["properties"]) == ["name", "count", "price", "colour", "tags"]


def test_nested_values_become_instances() -> None:
    value = {
        "items": [{"name": "pen", "count": 2.0, "price": 3, "colour": "red", "unknown": 1}],
        "by_key": {"k": {"name": "ink"}},
        "pair": [1, "a"],
        "mode": "slow",
        "parent": {"items": []},
    }
    order = convert(value, Order)
    assert order == Order([Item("pen", 2, 3.0, Colour.RED)], {"k": Item("ink")}, (1, "a"), "slow", Order([]))
    assert isinstance(order, Order)
    assert type(order.items[0].count) is int
    assert type(order.items[0].price) is float


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ([], "the payload must be an object, but is an array"),
        ({}, "`items` is missing"),
        ({"items": {}}, "`items` must be an array, but is an object"),
        ({"items": [{"name": 7}]}, "`items[0].name` must be a string, but is the number 7"),
        ({"items": [{"name": "x", "count": True}]}, "`items[0].count` must be an integer, but is a boolean"),
        ({"items": [{"name": "x", "count": 1.5}]}, "`items[0].count` must be an integer, but is the number 1.5"),
        ({"items": [{"name": "x", "colour": "green"}]}, "`items[0].colour` must be one of 'red', 'blue'"),
        ({"items": [{}]}, "`items[0].name` is missing"),
        ({"items": [], "pair": [1]}, "`pair` must be an array of 2 items"),
        ({"items": [], "mode": "x"}, "`mode` must be one of 'fast', 'slow'"),
        ({"items": [], "by_key": {"k": 1}}, "`by_key.k` must be an object"),
        ({"items": [], "parent": {"items": 1}}, "`parent.items` must be an array"),
    ],
)
def test_a_mismatch_names_the_member(value: object, message: str) -> None:
    with pytest.raises(CallError) as misfit:
        convert(value, Order)
    assert misfit.value.code == "invalid_input"
    assert misfit.value.message.startswith(message)


def test_every_issue_is_found_and_the_first_one_is_the_field() -> None:
    with pytest.raises(CallError) as mismatch:
        convert({"items": [{"name": 7, "count": "x"}, {}], "mode": "x"}, Order)
    assert mismatch.value.message.split("; ") == [
        "`items[0].name` must be a string, but is the number 7",
        "`items[0].count` must be an integer, but is a string",
        "`items[1].name` is missing",
        "`mode` must be one of 'fast', 'slow', but is a string",
    ]
    assert mismatch.value.details == {"field": "items[0].name"}


def test_the_number_of_issues_and_the_length_of_their_places_have_a_limit() -> None:
    tried: list[object] = []

    class Never(enum.Enum):
        ONE = 1

        @classmethod
        def _missing_(cls, value: object) -> None:
            tried.append(value)

    with pytest.raises(Mismatch) as many:
        convert({"a": ["x"] * 1_000, "b": ["x"] * 1_000}, dict[str, list[Never]])
    assert (len(many.value.issues), len(tried)) == (100, 100)
    with pytest.raises(Mismatch) as long:
        convert({"k" * 100_000: {"a": "x"}}, dict[str, dict[str, int]])
    assert len(long.value.message) < 500


def test_only_dataclasses_and_models_are_converted() -> None:
    wanting: list[object] = [Item, list[Item], Item | None, Model, dict[str, Item]]
    plain: list[object] = [dict, Address, int, Any, list[int], Literal["x"], None, "Item"]
    assert [wants_conversion(hint) for hint in wanting] == [True] * len(wanting)
    assert [wants_conversion(hint) for hint in plain] == [False] * len(plain)


def test_models_validate_themselves() -> None:
    model = convert(3, Model)
    assert isinstance(model, Model)
    assert model.value == 3
    with pytest.raises(CallError, match="the payload does not fit Model: it is bad"):
        convert("bad", Model)


class Line:
    """A model as those of pydantic: its schema has definitions at its root, to which the references lead."""

    @classmethod
    def model_json_schema(cls) -> dict[str, object]:
        size: dict[str, object] = {"enum": ["S", "L"]}
        return {"type": "object", "properties": {"size": {"$ref": "#/$defs/Size"}}, "$defs": {"Size": size}}


class OtherLine:
    @classmethod
    def model_json_schema(cls) -> dict[str, object]:
        return {"$ref": "#/$defs/Size", "$defs": {"Size": {"anyOf": [{"type": "integer"}, {"$ref": "#/$defs/Size"}]}}}


@dataclass
class Basket:
    line: Line
    other: OtherLine | None = None


def test_references_of_nested_models_lead_to_definitions_at_the_root() -> None:
    line = {"type": "object", "properties": {"size": {"$ref": "#/$defs/Size"}}}
    size = {"enum": ["S", "L"]}
    assert schema_of(Line) == {**line, "$defs": {"Size": size}}
    assert schema_of(list[Line]) == {"type": "array", "items": line, "$defs": {"Size": size}}
    assert schema_of(dict[str, Line]) == {"type": "object", "additionalProperties": line, "$defs": {"Size": size}}
    assert schema_of(tuple[Line, Line]) == {
        "type": "array",
        "prefixItems": [line, line],
        "minItems": 2,
        "maxItems": 2,
        "$defs": {"Size": size},
    }


def test_definitions_of_two_models_with_the_same_name_are_told_apart() -> None:
    schema = schema_of(Basket)
    assert schema is not None
    assert schema["properties"] == {
        "line": {"type": "object", "properties": {"size": {"$ref": "#/$defs/Size"}}},
        "other": {"anyOf": [{"$ref": "#/$defs/Size2"}, {"type": "null"}]},
    }
    assert schema["$defs"] == {
        "Size": {"enum": ["S", "L"]},
        "Size2": {"anyOf": [{"type": "integer"}, {"$ref": "#/$defs/Size2"}]},
    }
