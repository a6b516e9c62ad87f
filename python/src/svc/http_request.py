"""What the function of an ``http`` trigger is given."""

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
        name: The form's field.
        filename: As the client calls it; None where it does not.
        content_type: As the client says.
        body: The file's bytes.
    """

    name: str
    filename: str | None
    content_type: str
    body: ChannelReader


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpRequest:
    """A request as the module ``svc-http`` hands it to functions. What the caller left out has its empty form.

    Attributes:
        method: ``GET``, ``POST``, ...
        path: As registered, e.g. ``/users/:id``.
        url: Path and query as they were sent.
        path_params: Decoded, by the names of the registered path.
        query_params: One value per name, the last one.
        query: All values per name.
        headers: By lower-case name; repeated ones are joined.
        headers_all: All values per name.
        cookies: By name; of a repeated one the first.
        body: The JSON value, the fields of a form, a text; None where the body is read from ``request_body``.
        form: All values per field of a form.
        files: Files of a multipart form.
        client_address: Of the client; behind trusted proxies what they say.
        protocol: ``http`` or ``https``, by the word of trusted proxies too.
        host: As the client asked for it.
        request_id: Also in the answer's ``x-request-id``.
        context: What middleware added.
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
        """The body as it comes, for types that are not parsed.

        Raises:
            CallError: ``invalid_input``, where the route says ``streaming: false`` or no route made the call.
        """
        if self._request_body is None:
            message = "there is no body to read: the route says `streaming: false`, or no route made this call"
            raise CallError("invalid_input", message)
        return self._request_body

    @classmethod
    def model_validate(cls, value: object) -> HttpRequest:
        """Reads the payload of a call; how handlers whose hint is ``HttpRequest`` get one.

        Raises:
            CallError: ``invalid_input``, naming the member that is not what it should be.
        """
        if not isinstance(value, Mapping):
            raise CallError("invalid_input", "an HTTP request must be an object")
        members: dict[str, Any] = {
            name: value[name] for name in _KINDS if name in value and _fits(name, value[name]) is not None
        }
        # Engines that do not send all values send one.
        for every, single in (("query", "query_params"), ("headers_all", "headers")):
            members.setdefault(every, {name: [one] for name, one in members.get(single, {}).items()})
        members.setdefault("url", members.get("path", ""))
        members["_request_body"] = members.pop("request_body", None)
        members["files"] = [_file(file) for file in members.get("files", ())]
        return cls(**members, body=value.get("body"))

    @classmethod
    def model_json_schema(cls) -> dict[str, object]:
        """Empty: what every request looks like is no news, and what the body looks like is not known here."""
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
    """The value; None where it is null. CallError ``invalid_input`` where it is of another kind."""
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
