"""Calls the handler of a route with the parts of the request that its parameters name."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, get_args

from .context import HandlerContext
from .conversion import MAX_ISSUES, Issue, Mismatch, convert, shown
from .handlers import hints_of, is_async_function
from .http_handler import WrappedHandler, http
from .http_request import HttpRequest
from .http_response import StreamedResponse
from .http_result import HttpResult
from .route_format import PARTS, Part, PartFormat, part_format, request_format
from .schema import Schema, schema_of
from .text_values import read_text

_OTHERS = ("request", "response", "context")
_FORMS = ("application/x-www-form-urlencoded", "multipart/form-data")


class RouteHandler:
    """A handler of a route. ``function`` is what the worker registers for it.

    Raises:
        TypeError: the handler is not callable, has a parameter that no part of a request has the name of, or type
            hints that cannot be read.
    """

    def __init__(self, handler: Callable[..., Any], route: str) -> None:
        what = f"the handler of the route {route}"
        if not callable(handler):
            raise TypeError(f"{what} must be callable, not {type(handler).__name__}")
        self._handler = handler
        self._route = route
        self._takes = _parameters(handler, what)
        hints, problem = hints_of(handler)
        if problem is not None:
            # Requests would not be checked.
            raise TypeError(f"the type hints of {what} cannot be read: {problem}; define its types in the module")
        self._parts: dict[Part, PartFormat] = {
            part: part_format(part, hints.get(part, Any)) for part in PARTS if part in self._takes
        }
        self.request_format: Schema | None = request_format(self._parts.items())
        self.response_format: Schema | None = _response_format(hints.get("return", Any))
        self.function: WrappedHandler = self._wrapped()

    def _wrapped(self) -> WrappedHandler:
        async def run_async(request: HttpRequest, response: Any, context: HandlerContext) -> Any:
            answer = self._run(request, response, context)
            return await answer if inspect.isawaitable(answer) else answer

        run = run_async if is_async_function(self._handler) else self._run
        wrapped = http(run)
        for name in ("__name__", "__qualname__", "__module__", "__doc__"):
            setattr(wrapped, name, getattr(self._handler, name, None))
        return wrapped

    def _run(self, request: HttpRequest, response: Any, context: HandlerContext) -> Any:
        try:
            arguments = self._arguments(request, response, context)
        except Mismatch as mismatch:
            return self._bad_request(mismatch)
        return self._handler(**arguments)

    def _arguments(
        self, request: HttpRequest, response: StreamedResponse, context: HandlerContext
    ) -> dict[str, object]:
        """Raises Mismatch with the issues of all parts."""
        given: dict[str, object] = {"request": request, "response": response, "context": context}
        arguments = {name: given[name] for name in _OTHERS if name in self._takes}
        issues: list[Issue] = []
        for part, format in self._parts.items():
            try:
                arguments[part] = _converted(part, format, request)
            except Mismatch as mismatch:
                issues += [Issue((part, *_place(issue, format)), issue.problem) for issue in mismatch.issues]
        if issues:
            raise Mismatch(issues)
        return arguments

    def _bad_request(self, mismatch: Mismatch) -> HttpResult:
        """Returns the response, in the form of the engine's own errors."""
        problems = "; ".join(f"{shown(issue.place)} {issue.problem}" for issue in mismatch.issues)
        error = {
            "code": "invalid_input",
            "message": f"the request does not match the route {self._route}: {problems}",
            "issues": [
                {"in": issue.place[0], "path": list(issue.place[1:]), "message": issue.problem}
                for issue in mismatch.issues[:MAX_ISSUES]
            ],
        }
        return {"status_code": 400, "headers": {"x-content-type-options": "nosniff"}, "body": {"error": error}}


def _parameters(handler: Callable[..., Any], what: str) -> frozenset[str]:
    known = (*PARTS, *_OTHERS)
    parameters = inspect.signature(handler).parameters
    for name, parameter in parameters.items():
        variable = parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD, parameter.POSITIONAL_ONLY)
        if name in known and not variable:
            continue
        if variable or parameter.default is parameter.empty:
            raise TypeError(f"{what} has a parameter `{name}`; the names that it may have are {', '.join(known)}")
    return frozenset(name for name in parameters if name in known)


def _response_format(hint: object) -> Schema | None:
    """A response as a whole has no schema of its body."""
    if hint is Any or hint is None or hint is type(None) or hint is HttpResult or HttpResult in get_args(hint):
        return None
    return schema_of(hint)


def _converted(part: Part, format: PartFormat, request: HttpRequest) -> object:
    read = partial(read_text, hint=format.hint)
    match part:
        case "params":
            value = read(request.path_params)
        case "query":
            value = read(_values(request.query, format))
        case "headers":
            value = read(_headers(request, format))
        case "body" if request.headers.get("content-type", "").partition(";")[0].strip().lower() in _FORMS:
            value = read(_values(request.form, format))
        case _:
            value = request.body
    return convert(value, format.hint)


def _values(every: Mapping[str, list[str]], format: PartFormat) -> dict[str, object]:
    def wants_list(name: str) -> bool:
        return name in format.lists or format.others_are_lists

    return {name: values if wants_list(name) or len(values) != 1 else values[0] for name, values in every.items()}


def _headers(request: HttpRequest, format: PartFormat) -> dict[str, object]:
    if not format.headers:
        return dict(request.headers)
    source: Mapping[str, object]
    found: dict[str, object] = {}
    for member, header in format.headers.items():
        source = request.headers_all if member in format.lists else request.headers
        if header in source:
            found[member] = source[header]
    return found


def _place(issue: Issue, format: PartFormat) -> tuple[str | int, ...]:
    first, *rest = issue.place or (None,)
    return issue.place if first is None else (format.headers.get(str(first), first), *rest)
