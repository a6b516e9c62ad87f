"""Routes whose requests are checked by the type hints of their handlers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypedDict, TypeVar

from .options import unknown_names
from .registrar import FunctionOptions, FunctionRef, Registrar
from .route_handler import RouteHandler
from .triggers import Trigger

if TYPE_CHECKING:
    from typing_extensions import Unpack

Function = TypeVar("Function", bound=Callable[..., Any])
HttpMethod = Literal["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]


class RouteOptions(TypedDict, total=False):
    """Options of a route. Those after ``metadata`` are members of the trigger's config, as in ``docs/guide/http.md``.

    ``function_id``: default ``http::METHOD PATH``. ``description``: default: the first line of the handler's docstring.
    ``response``: JSON Schema or type of the response's body. Default: the hint of the handler's result. It is shown in
    OpenAPI, and not enforced. ``metadata``: JSON, shown in listings.
    """

    function_id: str
    description: str
    response: Any
    metadata: Any
    condition_function_id: str
    middleware_function_ids: list[Any]
    timeout_ms: int
    body: Literal["auto", "stream"]
    streaming: bool
    body_limit_bytes: int
    form_limit_bytes: int
    concurrency_limit: int
    queue_limit: int
    rate_limit: Mapping[str, int]
    cors: bool | Mapping[str, Any]
    compression: bool


_OWN = ("function_id", "description", "response", "metadata")
_OPTIONS = tuple(RouteOptions.__annotations__)


@dataclass(frozen=True, slots=True)
class HttpRoute:
    """A registered route: its function and the trigger for it. ``unregister()`` removes both."""

    function: FunctionRef
    trigger: Trigger

    def unregister(self) -> None:
        self.trigger.unregister()
        self.function.unregister()


class HttpRoutes:
    """Registers routes (module ``svc-http``): a function and a trigger of the type ``http`` for it.

    The parameters of the handler name what it gets, all optional: ``params`` (of the path), ``query``, ``headers``,
    ``body``, ``request`` (an ``HttpRequest``), ``response`` (``HttpResponse`` in async handlers, ``SyncHttpResponse``
    in sync ones) and ``context``. The hints of the first four are dataclasses, pydantic models or other types. They
    convert and check the request. A request that does not match is answered 400, with all problems, and the handler
    does not run. The strings of params, query, headers and forms are read as numbers, booleans, enums and literals.
    A header ``x-tenant`` is the member ``x_tenant``.
    """

    def __init__(self, registrar: Registrar) -> None:
        self._registrar = registrar

    def get(self, path: str, **options: Unpack[RouteOptions]) -> Callable[[Function], Function]:
        """Decorator that registers its function for ``GET`` of the path. It returns the function unchanged."""
        return self._decorator("GET", path, options)

    def head(self, path: str, **options: Unpack[RouteOptions]) -> Callable[[Function], Function]:
        """As ``get``, for ``HEAD``."""
        return self._decorator("HEAD", path, options)

    def post(self, path: str, **options: Unpack[RouteOptions]) -> Callable[[Function], Function]:
        """As ``get``, for ``POST``."""
        return self._decorator("POST", path, options)

    def put(self, path: str, **options: Unpack[RouteOptions]) -> Callable[[Function], Function]:
        """As ``get``, for ``PUT``."""
        return self._decorator("PUT", path, options)

    def patch(self, path: str, **options: Unpack[RouteOptions]) -> Callable[[Function], Function]:
        """As ``get``, for ``PATCH``."""
        return self._decorator("PATCH", path, options)

    def delete(self, path: str, **options: Unpack[RouteOptions]) -> Callable[[Function], Function]:
        """As ``get``, for ``DELETE``."""
        return self._decorator("DELETE", path, options)

    def options(self, path: str, **options: Unpack[RouteOptions]) -> Callable[[Function], Function]:
        """As ``get``, for ``OPTIONS``."""
        return self._decorator("OPTIONS", path, options)

    def register(
        self, method: HttpMethod, path: str, handler: Callable[..., Any], **options: Unpack[RouteOptions]
    ) -> HttpRoute:
        """Registers a route without a decorator.

        Raises:
            TypeError: the handler has another parameter, its type hints cannot be read, or an option is unknown.
            ValueError: an option is out of range, or the function's id is taken.
        """
        given: Mapping[str, Any] = _checked(method, options)
        route = f"{method} {path}"
        read = RouteHandler(handler, route)
        function = self._registrar.function(
            given.get("function_id", f"http::{route}"),
            read.function,
            FunctionOptions(
                given.get("description"),
                read.request_format,
                given.get("response", read.response_format),
                given.get("metadata"),
                # The request is checked here: in the payload all parameters are strings, whatever their hint.
                validate=False,
            ),
        )
        config = {name: value for name, value in given.items() if name not in _OWN}
        config |= {"api_path": path, "http_method": method}
        try:
            trigger = self._registrar.trigger({"type": "http", "function_id": function.id, "config": config})
        except BaseException:
            function.unregister()
            raise
        return HttpRoute(function, trigger)

    def _decorator(self, method: HttpMethod, path: str, options: RouteOptions) -> Callable[[Function], Function]:
        _checked(method, options)

        def register(handler: Function) -> Function:
            self.register(method, path, handler, **options)
            return handler

        return register


def _checked(method: HttpMethod, options: RouteOptions) -> RouteOptions:
    unknown = unknown_names(options, _OPTIONS, "option")
    if unknown is not None:
        raise TypeError(f"http.{method.lower()} has {unknown}")
    return options
