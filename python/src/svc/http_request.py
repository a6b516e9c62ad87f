"""The payload of ``http`` triggers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from .channel_reader import ChannelReader
from .errors import CallError


@dataclass(frozen=True, slots=True)
class HttpFile:
    """A file of a ``multipart/form-data`` request.

    Attributes:
        name: Field of the form.
        filename: As sent by the client, or None.
        content_type: As sent by the client.
        body: Content of the file.
    """

    name: str
    filename: str | None
    content_type: str
    body: ChannelReader


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpRequest:
    """A request, as the module ``svc-http`` passes it to functions. Missing members have an empty default.

    Attributes:
        method: ``GET``, ``POST``, ...
        path: Registered path, e.g. ``/users/:id``.
        url: Path and query as sent.
        path_params: Decoded path parameters, by name.
        query_params: Last value of each query parameter.
        query: All values of each query parameter.
        headers: By lower-case name. Values of repeated headers are joined.
        headers_all: All values of each header.
        cookies: By name. For repeated cookies, the first value.
        body: JSON value, fields of a form, or string; None if the body is read from ``request_body``.
        form: All values of each field of a form.
        files: Files of a multipart form.
        client_address: Address of the client, or as reported by trusted proxies.
        protocol: ``http`` or ``https``, or as reported by trusted proxies.
        host: Host that the client requested.
        request_id: Also sent as the response's ``x-request-id``.
        context: Members that middleware added.
        trigger: ``{"type": "http", "path", "method"}``.
    """

    method: str = ""
    path: str = ""
    url: str = ""
    path_params: dict[str, str] = field(default_factory=dict)
    query_params: dict[str, str] = field(default_factory=dict)
    query: dict[str, list[str]] = field(default_factory=dict)
    headers: dict[str, str] = field(default_factory=dict)
    headers_all: dict[str, list[str]] = field(default_factory=dict)
    cookies: dict[str, str] = field(default_factory=dict)
    body: Any = None
    form: dict[str, list[str]] = field(default_factory=dict)
    files: list[HttpFile] = field(default_factory=list)
    client_address: str | None = None
    protocol: str | None = None
    host: str | None = None
    request_id: str | None = None
    context: dict[str, Any] = field(default_factory=dict)
    trigger: dict[str, Any] = field(default_factory=dict)
    _request_body: ChannelReader | None = field(default=None, repr=False)

    @property
    def request_body(self) -> ChannelReader:
        """The unparsed body as a stream, for types that are not parsed.

        Raises:
            CallError: ``invalid_input`` if the route has ``streaming: false`` or no route made the call.
        """
        if self._request_body is None:
            message = "there is no body to read: the route says `streaming: false`, or no route made this call"
            raise CallError("invalid_input", message)
        return self._request_body

    @classmethod
    def model_validate(cls, value: object) -> HttpRequest:
        """Converts the payload of a call, for handlers with the type hint ``HttpRequest``.

        Raises:
            CallError: ``invalid_input``, naming the member that has the wrong type.
        """
        if not isinstance(value, Mapping):
            raise CallError("invalid_input", "an HTTP request must be an object")
        members: dict[str, Any] = {
            name: value[name] for name in _KINDS if name in value and _fits(name, value[name]) is not None
        }
        # Some engines only send one value per name.
        for every, single in (("query", "query_params"), ("headers_all", "headers")):
            members.setdefault(every, {name: [one] for name, one in members.get(single, {}).items()})
        members.setdefault("url", members.get("path", ""))
        members["_request_body"] = members.pop("request_body", None)
        members["files"] = [_file(file) for file in members.get("files", ())]
        return cls(**members, body=value.get("body"))

    @classmethod
    def model_json_schema(cls) -> dict[str, object]:
        """Returns an empty schema: requests all have the same form, and the body's type is unknown."""
        return {}


_TEXTS = ("method", "path", "url", "client_address", "protocol", "host", "request_id")
_MAPS = ("path_params", "query_params", "query", "headers", "headers_all", "cookies", "form", "context", "trigger")
_KINDS: dict[str, type] = {
    **dict.fromkeys(_TEXTS, str),
    **dict.fromkeys(_MAPS, dict),
    "files": list,
    "request_body": ChannelReader,
}


def _fits(name: str, value: object) -> object:
    """Returns the value, or None if it is null. Raises CallError ``invalid_input`` if its type is wrong."""
    if value is None or isinstance(value, _KINDS[name]):
        return value
    words = {str: "a string", dict: "an object", list: "an array", ChannelReader: "the reading end of a channel"}
    raise CallError("invalid_input", f"`{name}` of an HTTP request must be {words[_KINDS[name]]}", {"field": name})


def _file(value: object) -> HttpFile:
    facts = value if isinstance(value, dict) else {}
    name, filename, content_type, body = (facts.get(key) for key in ("name", "filename", "content_type", "body"))
    if not isinstance(name, str) or not isinstance(body, ChannelReader):
        raise CallError("invalid_input", "a file of an HTTP request has no name or no body", {"field": "files"})
    return HttpFile(
        name,
        filename if isinstance(filename, str) else None,
        content_type if isinstance(content_type, str) else "application/octet-stream",
        body,
    )
