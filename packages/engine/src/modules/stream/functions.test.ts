import { type FunctionId, Payload } from "@svc-runtime/protocol";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import {
  type Collected,
  type InMemoryEngine,
  inMemoryEngine,
  type ManualClock,
  manualClock,
} from "../../testing/index.ts";
import { stream } from "./index.ts";
import { type SeenEvent, watchStreams } from "./testing/watcher.ts";

let clock: ManualClock;
let engine: InMemoryEngine;
let seen: Collected<SeenEvent>;

beforeEach(async () => {
  clock = manualClock(Date.UTC(2026, 0, 1));
  engine = await inMemoryEngine({
    modules: [stream],
    config: { "svc-stream": { adapter: { name: "in_memory" }, max_value_bytes: 1_000 } },
    clock,
  });
  seen = await watchStreams(engine);
});
afterEach(() => engine.stop());

const call = (name: string, input: unknown): Promise<unknown> => engine.call(`stream::${name}`, input);
const item = { stream_name: "todos", group_id: "mine", item_id: "1" };
const group = { stream_name: "todos", group_id: "mine" };

async function text(name: string, input: string): Promise<string> {
  return (await engine.kernel.router.call(`stream::${name}` as FunctionId, Payload.fromText(input))).text();
}

describe("stream::set, get, update and delete", () => {
  it("return old and new data, the version and the event's sequence number, and publish each change once, in order", async () => {
    expect(await call("set", { ...item, data: { a: 1 } })).toEqual({
      old_value: null,
      new_value: { a: 1 },
      version: 1,
      seq: 1,
      durability: "memory",
    });
    expect(await call("set", { ...item, data: 0 })).toEqual({
      old_value: { a: 1 },
      new_value: 0,
      version: 2,
      seq: 2,
      durability: "memory",
    });
    expect(await call("get", item)).toBe(0);
    expect(await call("delete", item)).toEqual({ old_value: 0, seq: 3, durability: "memory" });
    expect(await call("get", item)).toBeNull();
    expect(await call("set", { ...item, data: null })).toMatchObject({
      old_value: null,
      new_value: null,
      version: 4,
      seq: 4,
    });
    const events = await seen.count(4);
    expect(events).toMatchObject([
      {
        type: "stream",
        timestamp: clock.now(),
        streamName: "todos",
        groupId: "mine",
        id: "1",
        event: { type: "create", data: { a: 1 } },
        seq: 1,
        version: 1,
      },
      { event: { type: "update", data: 0 }, seq: 2, version: 2 },
      { event: { type: "delete", data: 0 }, seq: 3, version: 3 },
      { event: { type: "create", data: null }, seq: 4, version: 4 },
    ]);
  });

  it.each([
    ["set", { data: 1, if_verison: 3 }, "if_version"],
    ["update", { ops: [{ type: "set", path: "", value: 1 }], if_verison: 3 }, "if_version"],
    ["delete", { if_verison: 3 }, "if_version"],
    ["get", { item: 3 }, undefined],
  ])("refuse with invalid_input a member that they do not know: %s %j", async (name, members, nearest) => {
    await call("set", { ...item, data: "kept" });
    const hint =
      nearest === undefined ? "unknown member `item`" : `unknown member \`if_verison\`; did you mean ${nearest}?`;
    await expect(call(name, { ...item, ...members })).rejects.toMatchObject({
      code: "invalid_input",
      message: expect.stringContaining(hint),
    });
    expect(await call("get", { ...item, _caller_worker_id: "w" })).toBe("kept");
  });

  it("publish nothing for a write that changes nothing (gap 36)", async () => {
    await call("set", { ...item, data: [1, 2] });
    expect(await text("set", '{"stream_name":"todos","group_id":"mine","item_id":"1","data":[ 1, 2 ]}')).not.toContain(
      "seq",
    );
    expect(await call("delete", { ...item, item_id: "never" })).toEqual({ old_value: null, durability: "memory" });
    expect(await call("update", { ...item, ops: [{ type: "set", path: "x", value: 1 }] })).toMatchObject({
      errors: [{ op_index: 0, code: "set.target_not_object" }],
      new_value: [1, 2],
      version: 1,
    });
    expect(await call("set", { ...item, data: "end" })).toMatchObject({ seq: 2, version: 2 });
    expect((await seen.count(2)).map(({ event }) => event.data)).toEqual([[1, 2], "end"]);
  });

  it("change an item by operations", async () => {
    expect(await call("update", { ...item, ops: [{ type: "increment", path: "n", by: 2 }] })).toMatchObject({
      old_value: null,
      new_value: { n: 2 },
      version: 1,
      seq: 1,
    });
    expect(
      await call("update", { ...item, ops: [{ type: "increment", path: ["n"], by: 1 }], if_version: 1 }),
    ).toMatchObject({
      new_value: { n: 3 },
      version: 2,
    });
    expect((await seen.count(2)).map(({ event }) => event)).toEqual([
      { type: "create", data: { n: 2 } },
      { type: "update", data: { n: 3 } },
    ]);
  });

  it("refuse a write at another version, saying which they found", async () => {
    await call("set", { ...item, data: 1, if_version: 0 });
    await expect(call("set", { ...item, data: 2, if_version: 7 })).rejects.toMatchObject({
      code: "state_conflict",
      message:
        '"1" in group "mine" of stream "todos" was expected at version 7, but it has version 1; nothing was written',
      details: { expected: 7, actual: 1 },
    });
    await expect(call("delete", { ...item, if_version: 0 })).rejects.toMatchObject({
      code: "state_conflict",
      details: { expected: 0, actual: 1 },
    });
    await expect(
      call("update", { ...item, ops: [{ type: "remove", path: "a" }], if_version: 2 }),
    ).rejects.toMatchObject({ code: "state_conflict" });
    expect(await call("get", item)).toBe(1);
  });

  it("keep the digits of numbers, in answers and in events", async () => {
    const address = '"stream_name":"todos","group_id":"mine","item_id":"1"';
    expect(await text("set", `{${address},"data":{"n":9007199254740993}}`)).toContain(
      '"new_value":{"n":9007199254740993}',
    );
    expect(await text("get", `{${address}}`)).toBe('{"n":9007199254740993}');
    expect(await text("list", '{"stream_name":"todos","group_id":"mine"}')).toBe('[{"n":9007199254740993}]');
    expect(await text("entries", '{"stream_name":"todos","group_id":"mine"}')).toContain(
      '"value":{"n":9007199254740993}',
    );
  });

  it.each([
    [{ ...item, stream_name: "" }, /`stream_name`: it is empty/],
    [
      { ...item, stream_name: "svc.workers" },
      /`stream_name`: names that start with svc. are reserved for the engine's streams/,
    ],
    [{ ...item, stream_name: "a\u001fb" }, /`stream_name`: it contains a control character/],
    [{ ...item, stream_name: "x".repeat(10_240) }, /`stream_name`: it is longer than 256 bytes/],
    [{ ...item, group_id: "\n" }, /`group_id`: it is empty/],
    [{ ...item, group_id: "\ud800" }, /`group_id`: it contains an unpaired surrogate/],
    [{ ...item, item_id: "" }, /`item_id`: must not be empty/],
    [{ ...item, item_id: "__proto__" }, /`item_id`: `__proto__` cannot be used/],
    [{ ...item, item_id: "é".repeat(513) }, /`item_id`: is 1026 bytes long/],
    [{ stream_name: "todos", group_id: "mine" }, /`item_id`/],
    [{ ...item, if_version: -1 }, /`if_version`/],
    [{ ...item, expires_in_ms: 0 }, /`expires_in_ms`/],
    [{ ...item, data: undefined }, /`data`: is missing; send null for null/],
    [null, /the payload/],
  ])("refuse %j with invalid_input", async (input, message) => {
    const payload = input === null || "data" in input ? input : { ...input, data: 1 };
    await expect(call("set", payload)).rejects.toMatchObject({
      code: "invalid_input",
      message: expect.stringMatching(message),
    });
  });

  it("take any other names, and keep streams and groups apart whatever they hold", async () => {
    const names = ["a", "a:b", "b", ":", "stream:a:b", "constructor", "toString", "😀 /\\", "é".repeat(128)];
    for (const stream_name of names)
      for (const group_id of names)
        await call("set", { stream_name, group_id, item_id: "k/ \u0001😀", data: `${stream_name}|${group_id}` });
    for (const stream_name of names) {
      expect(new Set((await call("list_groups", { stream_name })) as string[])).toEqual(new Set(names));
      for (const group_id of names)
        expect(await call("list", { stream_name, group_id })).toEqual([`${stream_name}|${group_id}`]);
    }
    const all = (await call("list_all", {})) as { stream: { id: string; groups: string[] }[]; count: number };
    expect(all.count).toBe(names.length);
    expect(new Set(all.stream.map(({ id }) => id))).toEqual(new Set(names));
    expect(all.stream.every(({ groups }) => groups.length === names.length)).toBe(true);
  });

  it("refuse data over the limit or nested too deeply, naming both, and take what members of prototypes are called", async () => {
    await expect(call("set", { ...item, data: "é".repeat(500) })).rejects.toMatchObject({
      code: "payload_too_large",
      details: { bytes: 1_002, limit: 1_000 },
    });
    await expect(call("send", { ...group, type: "t", data: "é".repeat(500) })).rejects.toMatchObject({
      code: "payload_too_large",
    });
    const deep = `{"stream_name":"todos","group_id":"mine","item_id":"1","data":${"[".repeat(129)}${"]".repeat(129)}}`;
    await expect(text("set", deep)).rejects.toMatchObject({
      code: "invalid_input",
      message: expect.stringMatching(/nested deeper than 128 levels/),
    });
    await expect(text("set", deep.replace(/\[+\]+/, "[".repeat(10_000) + "]".repeat(10_000)))).rejects.toMatchObject({
      code: "invalid_input",
    });
    const polluting = '{"__proto__":{"polluted":true},"constructor":1}';
    await text("set", `{"stream_name":"todos","group_id":"mine","item_id":"1","data":${polluting}}`);
    expect(await text("get", JSON.stringify(item))).toBe(polluting);
    expect(({} as { polluted?: unknown }).polluted).toBeUndefined();
  });
});

describe("listing streams", () => {
  it("returns items by id with versions, page by page", async () => {
    for (const item_id of ["b", "a", "user:2", "user:1"]) await call("set", { ...group, item_id, data: item_id });
    expect(await call("list", group)).toEqual(["a", "b", "user:1", "user:2"]);
    const first = (await call("entries", { ...group, limit: 3 })) as { items: object[]; cursor: string; total: number };
    expect(first.items[0]).toEqual({
      item_id: "a",
      value: "a",
      version: 1,
      updated_at: "2026-01-01T00:00:00.000Z",
      bytes: 3,
    });
    expect(first.total).toBe(4);
    expect(await call("entries", { ...group, cursor: first.cursor })).toMatchObject({
      items: [{ item_id: "user:2" }],
      cursor: null,
    });
    expect(await call("entries", { ...group, prefix: "user:" })).toMatchObject({
      items: [{ item_id: "user:1" }, { item_id: "user:2" }],
      total: 2,
    });
    await expect(call("entries", { ...group, cursor: "nonsense" })).rejects.toMatchObject({ code: "invalid_input" });
    expect(await call("get_entry", { ...group, item_id: "b" })).toMatchObject({ item_id: "b", value: "b", version: 1 });
    expect(await call("get_entry", { ...group, item_id: "c" })).toBeNull();
  });

  it("omits empty groups and streams", async () => {
    await call("set", { ...item, data: 1 });
    await call("delete", item);
    expect(await call("list_groups", { stream_name: "todos" })).toEqual([]);
    expect(await call("list_all", {})).toEqual({ stream: [], count: 0 });
    expect(await call("list", group)).toEqual([]);
  });
});

describe("stream::send", () => {
  it("publishes an event of any type without storing it", async () => {
    expect(await call("send", { ...group, id: "1", type: "typing", data: { who: "ada" } })).toBeNull();
    expect(await call("send", { ...group, type: "bell" })).toBeNull();
    expect(await seen.count(2)).toMatchObject([
      { id: "1", event: { type: "event", event: { type: "typing", data: { who: "ada" } } }, seq: 1 },
      { id: null, event: { type: "event", event: { type: "bell", data: null } }, seq: 2 },
    ]);
    expect(await call("list", group)).toEqual([]);
    await expect(call("send", { ...group, type: "" })).rejects.toMatchObject({
      code: "invalid_input",
      message: expect.stringContaining("`type`"),
    });
    await expect(call("send", { stream_name: "svc.workers", group_id: "all", type: "t" })).rejects.toMatchObject({
      code: "invalid_input",
    });
  });
});

describe("an item that ends by itself", () => {
  it("disappears when it expires, which is published", async () => {
    await call("set", { ...item, data: "short", expires_in_ms: 5_000 });
    await call("set", { ...item, item_id: "2", data: "long" });
    expect(await call("get_entry", item)).toMatchObject({ expires_at: "2026-01-01T00:00:05.000Z" });
    clock.advance(5_000);
    expect(await call("get", item)).toBeNull();
    const events = await seen.count(3);
    expect(events[2]).toMatchObject({ id: "1", event: { type: "delete", data: "short" }, seq: 3, version: 2 });
    expect(await call("list", group)).toEqual(["long"]);
  });

  it("is published as deleted before it is created again", async () => {
    await call("set", { ...item, data: "old", expires_in_ms: 500 });
    // Too little to count as a clock change. The item expires before the sweep's timer.
    clock.jumpTo(clock.now() + 500);
    expect(await call("set", { ...item, data: "new" })).toMatchObject({ old_value: null, version: 3 });
    expect((await seen.count(3)).map(({ event, version }) => [event.type, event.data, version])).toEqual([
      ["create", "old", 1],
      ["delete", "old", 2],
      ["create", "new", 3],
    ]);
  });
});
