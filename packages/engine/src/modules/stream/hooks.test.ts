import { type FunctionId, Payload } from "@svc-runtime/protocol";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import {
  accessTo,
  type Collected,
  type InMemoryEngine,
  type InMemoryWorker,
  inMemoryEngine,
} from "../../testing/index.ts";
import { stream } from "./index.ts";
import { type SeenEvent, watchStreams } from "./testing/watcher.ts";

let engine: InMemoryEngine;
let worker: InMemoryWorker;
let seen: Collected<SeenEvent>;

beforeEach(async () => {
  engine = await inMemoryEngine({ modules: [stream], config: { "svc-stream": { adapter: { name: "in_memory" } } } });
  seen = await watchStreams(engine);
  worker = await engine.connectWorker({ name: "prices" });
});
afterEach(() => engine.stop());

const item = { stream_name: "prices", group_id: "g", item_id: "tea" };
const call = (name: string, input: unknown): Promise<unknown> => engine.call(`stream::${name}`, input);

/** Registers hooks and waits until the engine has them. */
async function hook(functions: Readonly<Record<string, (data: unknown) => unknown>>): Promise<void> {
  for (const [operation, handle] of Object.entries(functions)) worker.serve(`stream::${operation}(prices)`, handle);
  worker.say({ type: "ping" });
  await worker.next((frame) => frame.type === "pong");
}

describe("functions that keep the items of a stream", () => {
  it("are called with the same input in place of the store, and what they did is published", async () => {
    const inputs: unknown[] = [];
    const answering = (answer: unknown) => (input: unknown) => {
      inputs.push(input);
      return answer;
    };
    await hook({
      set: answering({ new_value: 4 }),
      update: answering({ old_value: 4, new_value: 5 }),
      get: answering(5),
      list: answering([5]),
      list_groups: answering(["g"]),
      delete: answering({ old_value: 5 }),
    });
    const ops = [{ type: "increment", path: "", by: 1 }];
    expect(await call("set", { ...item, data: 4, if_version: 3 })).toEqual({ old_value: null, new_value: 4, seq: 1 });
    expect(await call("update", { ...item, ops })).toEqual({ old_value: 4, new_value: 5, seq: 2 });
    expect(await call("get", item)).toBe(5);
    expect(await call("list", { stream_name: "prices", group_id: "g" })).toEqual([5]);
    expect(await call("list_groups", { stream_name: "prices" })).toEqual(["g"]);
    expect(await call("delete", item)).toEqual({ old_value: 5, seq: 3 });
    expect(inputs).toEqual([
      { ...item, data: 4, if_version: 3 },
      { ...item, ops },
      item,
      { stream_name: "prices", group_id: "g" },
      { stream_name: "prices" },
      item,
    ]);
    expect((await seen.count(3)).map(({ event, version }) => [event.type, event.data, version])).toEqual([
      ["create", 4, undefined],
      ["update", 5, undefined],
      ["delete", 5, undefined],
    ]);
    await expect(call("entries", { stream_name: "prices", group_id: "g" })).rejects.toMatchObject({
      code: "invalid_input",
    });
    await expect(call("get_entry", item)).rejects.toMatchObject({ code: "invalid_input" });
  });

  it("are cancelled with the call that needs them", async () => {
    worker.say({ type: "registerfunction", id: "stream::get(prices)" });
    worker.say({ type: "ping" });
    await worker.next((frame) => frame.type === "pong");
    const cancellation = new AbortController();
    const got = engine.call("stream::get", item, { signal: cancellation.signal });
    const { invocation_id } = await worker.next((frame) => frame.type === "invokefunction");
    cancellation.abort();
    await expect(got).rejects.toMatchObject({ code: "call_cancelled" });
    expect(await worker.next((frame) => frame.type === "cancelinvocation")).toMatchObject({ invocation_id });
  });

  it("answer what clients get that join", async () => {
    await hook({ list: () => [1, 2], get: () => null });
    const socket = engine.openSocket("/stream/prices/g");
    expect(await socket.next()).toMatchObject({ event: { type: "sync", data: [1, 2] } });
    expect(await engine.openSocket("/stream/prices/g/tea").next()).toMatchObject({
      event: { type: "sync", data: null },
    });
  });

  it("keep digits", async () => {
    const other = await engine.connectWorker();
    other.say({ type: "registerfunction", id: "stream::set(prices)" });
    other.say({ type: "ping" });
    await other.next((frame) => frame.type === "pong");
    const answer = engine.kernel.router.call(
      "stream::set" as FunctionId,
      Payload.fromText(`{"stream_name":"prices","group_id":"g","item_id":"tea","data":9007199254740993}`),
    );
    const frame = await other.next(
      ({ type, function_id }) => type === "invokefunction" && function_id === "stream::set(prices)",
    );
    other.send(
      `{"type":"invocationresult","invocation_id":"${String(frame.invocation_id)}","function_id":"stream::set(prices)","result":{"old_value":1e400,"new_value":9007199254740993}}`,
    );
    expect((await answer).text()).toBe('{"old_value":1e400,"new_value":9007199254740993,"seq":1}');
  });

  it.each([
    ["set", { ...item, data: 1 }, "done", "{old_value?, new_value}"],
    ["set", { ...item, data: 1 }, { value: 1 }, "{old_value?, new_value}"],
    ["set", { ...item, data: 1 }, null, "{old_value?, new_value}"],
    [
      "set",
      { ...item, data: 1 },
      { new_value: JSON.parse(`${"[".repeat(137)}${"]".repeat(137)}`) },
      "{old_value?, new_value}",
    ],
    ["update", { ...item, ops: [{ type: "remove", path: "a" }] }, [], "{old_value?, new_value}"],
    ["delete", item, 5, "{old_value?}"],
    ["list", { stream_name: "prices", group_id: "g" }, {}, "an array"],
    ["list_groups", { stream_name: "prices" }, [1], "an array of strings"],
  ])("fail stream::%s with JSON_ERROR when they answer something else", async (operation, input, answer, expected) => {
    await hook({ [operation]: () => answer });
    await expect(call(operation, input)).rejects.toMatchObject({
      code: "JSON_ERROR",
      message: `stream::${operation}(prices) must return ${expected}`,
    });
    expect(seen.items).toEqual([]);
  });

  it("pass their own errors on", async () => {
    await hook({
      set: () => {
        throw new Error("the price is wrong");
      },
    });
    await expect(call("set", { ...item, data: 1 })).rejects.toMatchObject({
      code: "invocation_failed",
      message: "the price is wrong",
    });
  });

  it("leave nothing to the store: what they do not offer fails, and so does everything while they are away", async () => {
    await call("set", { ...item, stream_name: "other", data: 1 });
    await hook({ set: () => ({ new_value: 1 }), get: () => 1 });
    await expect(call("delete", item)).rejects.toMatchObject({
      code: "function_not_found",
      message: expect.stringMatching(/^Function stream::delete\(prices\) not found/),
    });
    worker.close();
    await expect(call("set", { ...item, data: 1 })).rejects.toMatchObject({ code: "function_not_found" });
    expect(await call("list_all", {})).toMatchObject({ stream: [{ id: "other" }] });
  });

  it("cannot be provided by a restricted connection", async () => {
    const guest = await engine.connectWorker({ access: accessTo([]) });
    guest.serve("stream::set(prices)", () => ({ new_value: "stolen" }));
    guest.say({ type: "ping" });
    await guest.next((frame) => frame.type === "pong");
    expect(engine.directory.functionById("stream::set(prices)")).toBeUndefined();
    expect(await call("set", { ...item, data: 1 })).toMatchObject({ new_value: 1, version: 1 });
  });

  it("have names of streams in them that hold anything, parentheses too", async () => {
    worker.serve("stream::get(a(b))", () => "here");
    worker.serve("stream::get()", () => "nowhere");
    worker.say({ type: "ping" });
    await worker.next((frame) => frame.type === "pong");
    expect(await call("get", { ...item, stream_name: "a(b)" })).toBe("here");
    expect(await call("get", { ...item, stream_name: "a(b" })).toBeNull();
  });

  it("may be named in the config: then nothing is written to the store before their worker has connected for the first time", async () => {
    await engine.stop();
    engine = await inMemoryEngine({
      modules: [stream],
      config: { "svc-stream": { adapter: { name: "in_memory" }, hooked_streams: ["price*"] } },
    });
    await expect(call("set", { ...item, data: 4 })).rejects.toMatchObject({ code: "function_not_found" });
    expect(await call("set", { ...item, stream_name: "other", data: 4 })).toMatchObject({ version: 1 });
    worker = await engine.connectWorker({ name: "prices" });
    await hook({ set: () => ({ new_value: 4 }) });
    expect(await call("set", { ...item, data: 4 })).toMatchObject({ new_value: 4 });
  });
});
