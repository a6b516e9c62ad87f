"""A published Python client under remote control; worker-program.mjs describes the protocol.

``python-0.11.py`` and ``python-0.22.py`` call ``main`` with what differs between versions.
"""

import asyncio
import hashlib
import json
import os
import sys
import threading

out = os.fdopen(3, "w", encoding="utf-8")
out_lock = threading.Lock()
UNDEFINED = object()


def say(line):
    text = json.dumps(line, default=lambda thing: f"<{type(thing).__name__}>")
    with out_lock:
        out.write(text + "\n")
        out.flush()


def pattern(length):
    return (bytes(range(251)) * (length // 251 + 1))[:length]


def sha256(data):
    return hashlib.sha256(data).hexdigest()


async def read_bytes(reader):
    return await reader.read_all()


async def write_all(writer, size, texts=()):
    for text in texts:
        await writer.send_message_async(text)
    await writer.write(pattern(size))
    await writer.close_async()


def stream_keeper(sdk, name):
    """Stores a stream's items here, with the functions that the client registers for it."""

    class StreamKeeper(sdk.IStream):
        def __init__(self, name):
            self.name = name
            self.groups = {}

        def note(self, method, input):
            say({"event": "kept", "function": method, "type": self.name, "data": input.model_dump()})

        def group(self, input):
            return self.groups.setdefault(input.group_id, {})

        async def get(self, input):
            self.note("get", input)
            return self.group(input).get(input.item_id)

        async def set(self, input):
            self.note("set", input)
            old_value = self.group(input).get(input.item_id)
            self.group(input)[input.item_id] = input.data
            return sdk.StreamSetResult(old_value=old_value, new_value=input.data)

        async def delete(self, input):
            self.note("delete", input)
            return sdk.StreamDeleteResult(old_value=self.group(input).pop(input.item_id, None))

        async def list(self, input):
            self.note("list", input)
            return list(self.group(input).values())

        async def list_groups(self, input):
            self.note("listGroups", input)
            return list(self.groups)

        async def update(self, input):
            raise NotImplementedError

    return StreamKeeper(name)


class Worker:
    def __init__(self, sdk):
        #: Names of the client's version.
        self.sdk = sdk
        self.client = None
        self.functions = {}
        self.triggers = {}
        self.held = {}
        self.next_handle = 1

    def keep(self, thing):
        handle = str(self.next_handle)
        self.next_handle += 1
        self.triggers[handle] = thing
        return handle

    def behaviour(self, function_id, kind, **given):
        sdk = self.sdk
        if kind == "echo":

            async def handle(data):
                return data

        elif kind == "metadata":

            async def handle(data, metadata):
                return {"status_code": 200, "body": {"metadata": metadata}}

        elif kind == "value":

            async def handle(data):
                return given["value"]

        elif kind == "fail":

            async def handle(data):
                raise RuntimeError(given["message"])

        elif kind == "nothing":

            async def handle(data):
                return None

        elif kind == "hold":

            async def handle(data):
                released = asyncio.Event()
                self.held[function_id] = (asyncio.get_running_loop(), released)
                await released.wait()
                return given.get("value")

        elif kind == "describe":

            async def handle(data):
                request = {key: value for key, value in data.items() if key not in ("request_body", "response")}
                ends = {
                    "hasReader": isinstance(data.get("request_body"), sdk.ChannelReader),
                    "hasWriter": isinstance(data.get("response"), sdk.ChannelWriter),
                }
                return {"status_code": given["status"], "headers": given["headers"], "body": {**request, **ends}}

        elif kind == "stream":

            @sdk.http
            async def handle(request, response):
                await response.status(given["status"])
                await response.headers(given["headers"])
                for _ in range(given["chunks"]):
                    await response.writer.write(pattern(given["chunkBytes"]))
                await response.writer.close_async()

        elif kind == "digest":

            @sdk.http
            async def handle(request, response):
                data = await read_bytes(request.request_body)
                body = {"bytes": len(data), "sha256": sha256(data), "body": request.body}
                return sdk.HttpResponse(statusCode=200, body=body)

        elif kind == "readChannel":

            async def handle(data):
                reader = data["deep"][0]["reader"]
                texts = []
                reader.on_message(texts.append)
                received = await read_bytes(reader)
                return {
                    "isReader": isinstance(reader, sdk.ChannelReader),
                    "bytes": len(received),
                    "sha256": sha256(received),
                    "texts": texts,
                }

        elif kind == "writeChannel":

            async def handle(data):
                writer = data["deep"][0]["writer"]
                await write_all(writer, given["bytes"], given.get("texts", ()))
                return {"isWriter": isinstance(writer, sdk.ChannelWriter)}

        else:
            raise ValueError(kind)
        return handle

    def connect(self, address, options):
        reconnection = options.get("reconnectionConfig")
        description = options.get("workerDescription")
        self.client = self.sdk.register_worker(
            address,
            self.sdk.InitOptions(
                worker_name=options.get("workerName"),
                **({} if description is None or not self.sdk.is_later else {"worker_description": description}),
                invocation_timeout_ms=options.get("invocationTimeoutMs", 30_000),
                reconnection_config=None if reconnection is None else self.sdk.ReconnectionConfig(
                    initial_delay_ms=reconnection.get("initialDelayMs", 1_000),
                    jitter_factor=reconnection.get("jitterFactor", 0.3),
                ),
                otel=options.get("otel"),
                headers=options.get("headers"),
            ),
        )

    def register_function(self, id, behaviour, options=None):
        handle = self.behaviour(id, **behaviour)

        async def handler(data):
            say({"event": "called", "function": id, "data": data, "arguments": 1})
            return await handle(data)

        async def handler_with_metadata(data, metadata):
            say({"event": "called", "function": id, "data": data, "arguments": 2, "metadata": metadata})
            return await (handle(data, metadata) if behaviour["kind"] == "metadata" else handle(data))

        names = {"description": "description", "metadata": "metadata", "request_format": "request_format", "response_format": "response_format"}
        given = {names[key]: value for key, value in (options or {}).items()}
        chosen = handler_with_metadata if self.sdk.is_later else handler
        self.functions[id] = self.client.register_function(id, chosen, **given)

    def unregister_function(self, id):
        self.functions[id].unregister()

    def release(self, id):
        loop, released = self.held.pop(id)
        loop.call_soon_threadsafe(released.set)

    def trigger(self, action=None, timeoutMs=None, **request):
        if action is not None:
            made = (
                self.sdk.TriggerAction.Void()
                if action["type"] == "void"
                else self.sdk.TriggerAction.Enqueue(queue=action["queue"])
            )
            request["action"] = made
        if timeoutMs is not None:
            request["timeout_ms"] = timeoutMs
        return self.client.trigger(request)

    def register_trigger(self, **request):
        return self.keep(self.client.register_trigger(request))

    def unregister_trigger(self, handle):
        self.triggers[handle].unregister()

    def register_trigger_type(self, id, description, failure=None):
        class Handler(self.sdk.TriggerHandler):
            async def register_trigger(self, config):
                say({"event": "bound", "type": id, "config": config.model_dump()})
                if failure is not None:
                    raise RuntimeError(failure)

            async def unregister_trigger(self, config):
                say({"event": "unbound", "type": id, "config": config.model_dump()})

        self.client.register_trigger_type({"id": id, "description": description}, Handler())

    def unregister_trigger_type(self, id):
        self.client.unregister_trigger_type({"id": id, "description": ""})

    def register_service(self, **service):
        self.client.register_service(service)

    def channel_to(self, function_id=None, size=None, write=None, hold=False):
        channel = self.sdk.create_channel(self.client, size)
        refs = {"writer": channel.writer_ref.model_dump(), "reader": channel.reader_ref.model_dump()}
        if hold:
            return {"refs": refs, "held": self.keep(channel)}
        end = {"reader": refs["reader"]} if write is not None else {"writer": refs["writer"]}
        request = {"function_id": function_id, "payload": {"deep": [end]}}

        async def both():
            call = asyncio.to_thread(self.client.trigger, request)
            if write is not None:
                returned, _ = await asyncio.gather(call, write_all(channel.writer, write["bytes"], write.get("texts", ())))
                return {"refs": refs, "answer": returned}
            texts = []
            channel.reader.on_message(texts.append)
            returned, received = await asyncio.gather(call, read_bytes(channel.reader))
            return {"refs": refs, "answer": returned, "bytes": len(received), "sha256": sha256(received), "texts": texts}

        return asyncio.run(both())

    def state_event_types(self):
        names = {"Created": "CREATED", "Updated": "UPDATED", "Deleted": "DELETED"}
        return {name: getattr(self.sdk.StateEventType, own).value for name, own in names.items()}

    def create_stream(self, name):
        self.sdk.create_stream(self.client, name, stream_keeper(self.sdk, name))

    def model(self, name, value):
        """Converts a value with the client's own type. Raises if it does not match."""
        model = next(found for module in self.sdk.models if (found := getattr(module, name, None)) is not None)
        return model.model_validate(value).model_dump(mode="json")

    def log(self, message, data=None):
        self.sdk.Logger().info(message, data)

    def shutdown(self):
        # A second shutdown of this client would never return.
        ending, self.client = self.client, None
        ending.shutdown()

    def reset(self):
        if self.client is not None:
            self.shutdown()
        self.functions.clear()
        self.triggers.clear()
        self.held.clear()


COMMANDS = {
    "connect": Worker.connect,
    "registerFunction": Worker.register_function,
    "unregisterFunction": Worker.unregister_function,
    "release": Worker.release,
    "trigger": Worker.trigger,
    "registerTrigger": Worker.register_trigger,
    "unregisterTrigger": Worker.unregister_trigger,
    "registerTriggerType": Worker.register_trigger_type,
    "unregisterTriggerType": Worker.unregister_trigger_type,
    "registerService": Worker.register_service,
    "channelTo": Worker.channel_to,
    "stateEventTypes": Worker.state_event_types,
    "createStream": Worker.create_stream,
    "model": Worker.model,
    "log": Worker.log,
    "shutdown": Worker.shutdown,
    "reset": Worker.reset,
}


def answer(worker, n, name, given):
    try:
        value = COMMANDS[name](worker, **given)
        say({"n": n, **({} if value is None else {"value": value})})
    except Exception as error:
        fields = {key: getattr(error, key, None) for key in ("code", "function_id", "stacktrace")}
        say({"n": n, "error": {"type": type(error).__name__, "message": str(error), **fields}})


def main(sdk):
    worker = Worker(sdk)
    say({"event": "ready"})
    for line in sys.stdin:
        command = json.loads(line)
        if command["do"] == "finish":
            say({"n": command["n"]})
            return
        given = (worker, command["n"], command["do"], command.get("with") or {})
        # A waiting call must not delay later commands.
        if command["do"] in ("trigger", "channelTo", "shutdown", "reset"):
            threading.Thread(target=answer, args=given, daemon=True).start()
        else:
            answer(*given)
