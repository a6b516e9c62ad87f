"""Routes whose requests are checked by the type hints of their handlers (``worker.http``)."""

from __future__ import annotations

import enum
import http.client
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Literal, TypedDict
from urllib.parse import urlsplit

import pytest
from pydantic import BaseModel, Field

import svc
from svc.testing import TestEngine

Connect = Callable[..., svc.Worker]


class Size(enum.Enum):
    SMALL = "small"
    LARGE = "large"


@dataclass
class Line:
    item: str
    count: int = 1


@dataclass
class NewOrder:
    lines: list[Line]
    note: str | None = None


@dataclass
class Shop:
    shop: Literal["tea", "coffee"]


@dataclass
class Search:
    dry_run: bool = False
    limit: int = 10
    ratio: float | None = None
    size: Size = Size.SMALL
    tag: list[str] = field(default_factory=list)


@dataclass
class Tenant:
    x_tenant: str


@dataclass
class Upload:
    count: int
    tags: list[str]


class OrderView(TypedDict):
    id: int
    lines: list[dict[str, Any]]


class Page(BaseModel):
    number: int = Field(alias="page", ge=1)
    tags: list[str] = []


class Draft(BaseModel):
    title: str = Field(min_length=2)
    lines: list[Line] = []


class Ask:
    def __init__(self, address: str) -> None:
        parts = urlsplit(address)
        self._client = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=20)

    def __call__(
        self, method: str, path: str, body: object = None, headers: dict[str, str] | None = None
    ) -> tuple[int, Any]:
        sent = {"content-type": "application/json"} if body is not None else {}
        data = body if isinstance(body, str) or body is None else json.dumps(body)
        self._client.request(method, path, data, {**sent, **(headers or {})})
        response = self._client.getresponse()
        text = response.read()
        return response.status, json.loads(text) if text else None

    def text(self, method: str, path: str) -> str:
        self._client.request(method, path)
        return self._client.getresponse().read().decode()

    def close(self) -> None:
        self._client.close()


@pytest.fixture
def ask(real_engine: TestEngine) -> Iterator[Ask]:
    ask = Ask(real_engine.http_url)
    yield ask
    ask.close()


def test_a_handler_gets_the_parts_of_a_request_as_its_hints_say(connect_real: Connect, ask: Ask) -> None:
    worker = connect_real()

    def take(params: Shop, query: Search, headers: Tenant, body: NewOrder) -> Any:
        seen = [params.shop, query.dry_run, query.limit, query.ratio, query.size.name, query.tag, headers.x_tenant]
        return svc.json_response([*seen, body], status_code=201)

    route = worker.http.register("POST", "/typed/:shop/orders", take)
    assert route.trigger.wait_registered(10) == "active"
    assert route.function.id == "http::POST /typed/:shop/orders"
    body = {"lines": [{"item": "oolong"}]}
    query = "dry_run=yes&limit=3&ratio=0.5&size=large&tag=a"
    assert ask("POST", f"/typed/tea/orders?{query}", body, {"x-tenant": "acme"}) == (
        201,
        ["tea", True, 3, 0.5, "LARGE", ["a"], "acme", {"lines": [{"item": "oolong", "count": 1}], "note": None}],
    )


def test_a_request_that_does_not_match_is_answered_400_with_all_problems(connect_real: Connect, ask: Ask) -> None:
    worker = connect_real()
    ran: list[object] = []

    @worker.http.post("/all-problems/:shop")
    def take(params: Shop, query: Search, headers: Tenant, body: NewOrder) -> None:
        ran.append(params)

    worker.call({"function_id": "engine::info", "payload": {}})  # the route is active once this has returned
    status, answer = ask("POST", "/all-problems/milk?limit=many&dry_run=maybe", {"lines": [{"count": "x"}], "note": 1})
    assert (status, answer["error"]["code"], ran) == (400, "invalid_input", [])
    assert answer["error"]["message"].startswith("the request does not match the route POST /all-problems/:shop: ")
    assert answer["error"]["issues"] == [
        {"in": "params", "path": ["shop"], "message": "must be one of 'tea', 'coffee', but is 'milk'"},
        {"in": "query", "path": ["dry_run"], "message": "must be a boolean, but is 'maybe'"},
        {"in": "query", "path": ["limit"], "message": "must be an integer, but is 'many'"},
        {"in": "headers", "path": ["x-tenant"], "message": "is missing"},
        {"in": "body", "path": ["lines", 0, "item"], "message": "is missing"},
        {"in": "body", "path": ["lines", 0, "count"], "message": "must be an integer, but is a string"},
        {"in": "body", "path": ["note"], "message": "must be a string, but is the number 1"},
    ]


def test_a_part_may_be_optional_and_a_query_may_be_any_lists(connect_real: Connect, ask: Ask) -> None:
    worker = connect_real()

    @worker.http.get("/optional")
    def look(headers: Tenant | None = None, query: Search | None = None) -> list[Any]:
        return [headers and headers.x_tenant, query and query.tag]

    @worker.http.get("/any-lists")
    def names(query: dict[str, list[str]]) -> dict[str, list[str]]:
        return query

    worker.call({"function_id": "engine::info", "payload": {}})
    assert ask("GET", "/optional?tag=a", headers={"x-tenant": "acme"}) == (200, ["acme", ["a"]])
    assert ask("GET", "/any-lists?a=1&b=2&b=3") == (200, {"a": ["1"], "b": ["2", "3"]})


def test_models_of_pydantic_check_parts_with_their_own_rules(connect_real: Connect, ask: Ask) -> None:
    worker = connect_real()

    @worker.http.put("/drafts")
    async def save(query: Page, body: Draft) -> Draft:
        return Draft(title=f"{body.title} {query.number} {','.join(query.tags)}", lines=body.lines)

    worker.call({"function_id": "engine::info", "payload": {}})
    saved = {"title": "tea 2 a", "lines": [{"item": "x", "count": 1}]}
    assert ask("PUT", "/drafts?page=2&tags=a", {"title": "tea", "lines": [{"item": "x"}]}) == (200, saved)
    status, answer = ask("PUT", "/drafts?page=0", {"title": "t"})
    assert status == 400
    assert [(issue["in"], issue["path"]) for issue in answer["error"]["issues"]] == [
        ("query", ["page"]),
        ("body", ["title"]),
    ]


def test_the_schemas_are_in_the_openapi_document(connect_real: Connect, ask: Ask) -> None:
    worker = connect_real()

    @worker.http.post("/described/:shop", response=OrderView)
    def take(params: Shop, query: Search, headers: Tenant, body: NewOrder) -> svc.HttpResult:
        """Takes an order."""
        return svc.json_response({"id": 1, "lines": []})

    @worker.http.get("/described")
    def look(query: Page) -> list[OrderView]:
        return []

    worker.call({"function_id": "engine::info", "payload": {}})
    _, document = ask("GET", "/_console/openapi.json")
    post = document["paths"]["/described/{shop}"]["post"]
    assert post["summary"] == "Takes an order."
    assert [(one["in"], one["name"], one["required"]) for one in post["parameters"]] == [
        ("path", "shop", True),
        ("query", "dry_run", False),
        ("query", "limit", False),
        ("query", "ratio", False),
        ("query", "size", False),
        ("query", "tag", False),
        ("header", "x-tenant", True),
    ]
    body = post["requestBody"]["content"]["application/json"]["schema"]
    assert body["properties"]["lines"]["items"]["required"] == ["item"]
    assert post["responses"]["200"]["content"]["application/json"]["schema"]["title"] == "OrderView"
    get = document["paths"]["/described"]["get"]
    assert [(one["in"], one["name"], one["required"]) for one in get["parameters"]] == [
        ("query", "page", True),
        ("query", "tags", False),
    ]
    assert get["responses"]["200"]["content"]["application/json"]["schema"]["items"]["title"] == "OrderView"


def test_a_route_may_stream_and_read_files_and_forms(connect_real: Connect, ask: Ask) -> None:
    worker = connect_real()

    @worker.http.post("/upload", function_id="files::up")
    def upload(
        body: Upload, request: svc.HttpRequest, response: svc.SyncHttpResponse, context: svc.HandlerContext
    ) -> list[Any]:
        (file,) = request.files
        response.status(201)
        return [body.count, body.tags, file.filename, len(file.body.read_all()), context.function_id]

    @worker.http.get("/ticks")
    async def ticks(response: svc.HttpResponse) -> None:
        await response.sse([1], event="tick")

    worker.call({"function_id": "engine::info", "payload": {}})
    part = '--b\r\nContent-Disposition: form-data; name="{}"\r\n\r\n{}\r\n'
    file = '--b\r\nContent-Disposition: form-data; name="file"; filename="a.bin"\r\n\r\nxxx\r\n--b--\r\n'
    form = {"content-type": "multipart/form-data; boundary=b"}
    sent = part.format("count", "7") + part.format("tags", "a") + file
    assert ask("POST", "/upload", sent, form) == (201, [7, ["a"], "a.bin", 3, "files::up"])
    status, answer = ask("POST", "/upload", part.format("count", "x") + file, form)
    assert (status, len(answer["error"]["issues"])) == (400, 2)
    assert ask.text("GET", "/ticks") == "event: tick\ndata: [1]\n\n"


def test_a_direct_call_of_a_route_may_have_some_members_only(connect_real: Connect) -> None:
    worker = connect_real()
    worker.http.register("GET", "/direct/:shop", lambda params: {"seen": params})
    request = {"function_id": "http::GET /direct/:shop", "payload": {"path_params": {"shop": "tea"}}}
    assert worker.call(request) == {"seen": {"shop": "tea"}}


def unknown_part(path: Shop) -> None: ...


def unreadable_hint(body: Nowhere) -> None: ...  # type: ignore[name-defined]  # noqa: F821


def test_mistakes_of_a_route_fail_when_it_is_registered(connect_real: Connect) -> None:
    http = connect_real().http
    with pytest.raises(TypeError, match=r"the handler of the route GET /x has a parameter `path`; .* params, query, "):
        http.get("/x")(unknown_part)
    with pytest.raises(TypeError, match=r"type hints of the handler of the route POST /x cannot be read: .*Nowhere"):
        http.post("/x")(unreadable_hint)
    with pytest.raises(TypeError, match="did you mean body_limit_bytes"):
        http.post("/x", body_limit=10)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="must be callable"):
        http.register("GET", "/x", "handler")  # type: ignore[arg-type]


def test_a_route_whose_trigger_is_refused_leaves_no_function(connect_real: Connect) -> None:
    http = connect_real().http
    with pytest.raises(ValueError, match="JSON"):
        http.register("GET", "/refused", lambda: None, rate_limit={"requests": object()})  # type: ignore[dict-item]
    route = http.register("GET", "/refused", lambda: None)
    assert route.trigger.wait_registered(10) == "active"


def test_unregister_removes_function_and_trigger(connect_real: Connect, ask: Ask) -> None:
    worker = connect_real()
    route = worker.http.register("DELETE", "/gone", lambda: {"ok": True})
    assert route.trigger.wait_registered(10) == "active"
    assert ask("DELETE", "/gone") == (200, {"ok": True})
    route.unregister()
    worker.call({"function_id": "engine::info", "payload": {}})
    assert ask("DELETE", "/gone")[0] == 404
