import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type InMemoryEngine, inMemoryEngine, manualClock } from "../../testing/index.ts";
import { state } from "./index.ts";
import { answerText, stateEngine } from "./testing/state-engine.ts";

const clock = manualClock(Date.UTC(2026, 0, 1));
let engine: InMemoryEngine;

beforeEach(async () => {
  engine = await stateEngine({ clock, maxValueBytes: 1_000 });
});
afterEach(() => engine.stop());

function call(name: string, input: unknown): Promise<unknown> {
  return engine.call(`state::${name}`, input);
}

describe("state::set, get and delete", () => {
  it("answers with the old value, the new one and the version", async () => {
    expect(await call("set", { scope: "s", key: "k", value: { a: [1] } })).toEqual({
      old_value: null,
      new_value: { a: [1] },
      version: 1,
      durability: "memory",
    });
    expect(await call("set", { scope: "s", key: "k", value: null })).toMatchObject({
      old_value: { a: [1] },
      new_value: null,
      version: 2,
    });
    expect(await call("get", { scope: "s", key: "k" })).toBeNull();
    expect(await call("delete", { scope: "s", key: "k" })).toBeNull();
    expect(await call("get", { scope: "s", key: "never" })).toBeNull();
    expect(await call("delete", { scope: "s", key: "never" })).toBeNull();
  });

  it.each([
    ["set", { value: 1, if_verison: 3 }, "the payload: unknown member `if_verison`; did you mean if_version?"],
    [
      "update",
      { ops: [{ type: "set", path: "", value: 1 }], if_vesion: 3 },
      "the payload: unknown member `if_vesion`; did you mean if_version?",
    ],
    [
      "update",
      { ops: [{ type: "increment", path: "", by: 1, apth: "n" }] },
      "`ops.0`: unknown member `apth`; did you mean path?",
    ],
    ["delete", { ifversion: 3 }, "the payload: unknown member `ifversion`; did you mean if_version?"],
    ["get", { stuff: 3 }, "the payload: unknown member `stuff`"],
    [
      "set",
      { vlaue: 1 },
      "the payload: unknown member `vlaue`; did you mean value?; `value`: is missing; send null to store null",
    ],
  ])("refuse with invalid_input a member that they do not know: %s %j", async (name, members, problem) => {
    await call("set", { scope: "s", key: "k", value: "kept" });
    await expect(call(name, { scope: "s", key: "k", ...members })).rejects.toMatchObject({
      code: "invalid_input",
      message: `state::${name}: ${problem}`,
    });
    expect(await call("get", { scope: "s", key: "k" })).toBe("kept");
  });

  it("refuse an unknown member inside the items of set_many too, and of functions that take nothing", async () => {
    await expect(call("set_many", { items: [{ scope: "s", key: "k", value: 1, if_verson: 0 }] })).rejects.toMatchObject(
      {
        code: "invalid_input",
        message: "state::set_many: `items.0`: unknown member `if_verson`; did you mean if_version?",
      },
    );
    await expect(call("list_groups", { prefix: "a" })).rejects.toMatchObject({ code: "invalid_input" });
    expect(await call("list_groups", null)).toEqual({ groups: [] });
  });

  it("pass over what carriers of a payload add to it, which begins with `_`", async () => {
    expect(await call("set", { scope: "s", key: "k", value: { _mine: 1 }, _caller_worker_id: "w" })).toMatchObject({
      new_value: { _mine: 1 },
    });
  });

  it("takes `data` as another name for `value`", async () => {
    expect(await call("set", { scope: "s", key: "k", data: 0 })).toMatchObject({ new_value: 0 });
    expect(await call("get", { scope: "s", key: "k" })).toBe(0);
  });

  it("keeps every JSON value as it is, members named like prototypes too", async () => {
    for (const value of [
      0,
      -1.5e-7,
      "",
      "\ud800\u0000😀",
      false,
      [],
      {},
      JSON.parse('{"__proto__":{"polluted":true},"constructor":1}'),
    ]) {
      await call("set", { scope: "constructor", key: "toString", value });
      expect(JSON.stringify(await call("get", { scope: "constructor", key: "toString" }))).toBe(JSON.stringify(value));
    }
    expect(({} as { polluted?: unknown }).polluted).toBeUndefined();
  });

  it("keeps the version when nothing changes", async () => {
    await call("set", { scope: "s", key: "k", value: [1] });
    expect(await call("set", { scope: "s", key: "k", value: [1] })).toMatchObject({
      old_value: [1],
      new_value: [1],
      version: 1,
    });
  });

  it("refuses a write at another version than if_version, saying which it found", async () => {
    await call("set", { scope: "s", key: "k", value: 1, if_version: 0 });
    await expect(call("set", { scope: "s", key: "k", value: 2, if_version: 7 })).rejects.toMatchObject({
      code: "state_conflict",
      message: '"k" in scope "s" was expected at version 7, but it has version 1; nothing was written',
      details: { expected: 7, actual: 1 },
    });
    await expect(call("delete", { scope: "s", key: "k", if_version: 0 })).rejects.toMatchObject({
      code: "state_conflict",
      details: { expected: 0, actual: 1 },
    });
    expect(await call("get", { scope: "s", key: "k" })).toBe(1);
    expect(await call("delete", { scope: "s", key: "k", if_version: 1 })).toBe(1);
    await expect(call("set", { scope: "s", key: "k", value: 2, if_version: 1 })).rejects.toMatchObject({
      message: expect.stringMatching(/but it does not exist/),
    });
  });

  it.each([
    [{ key: "k", value: 1 }, /`scope`/],
    [{ scope: "", key: "k", value: 1 }, /`scope`: must not be empty/],
    [{ scope: "s", key: "", value: 1 }, /`key`: must not be empty/],
    [{ scope: "__proto__", key: "k", value: 1 }, /`scope`: `__proto__` cannot be used/],
    [{ scope: "s", key: "__proto__", value: 1 }, /`key`: `__proto__` cannot be used/],
    [{ scope: "s", key: "é".repeat(513), value: 1 }, /`key`: is 1026 bytes long; at most 1024 are allowed/],
    [{ scope: "s", key: "\ud800", value: 1 }, /`key`: contains an unpaired surrogate/],
    [{ scope: "s", key: 5, value: 1 }, /`key`/],
    [{ scope: "s", key: "k" }, /`value`: is missing; send null to store null/],
    [{ scope: "s", key: "k", value: 1, data: 2 }, /`data`: is another name for `value`/],
    [{ scope: "s", key: "k", value: 1, if_version: -1 }, /`if_version`/],
    [null, /the payload/],
  ])("refuses %j with invalid_input", async (input, message) => {
    await expect(call("set", input)).rejects.toMatchObject({
      code: "invalid_input",
      message: expect.stringMatching(message),
    });
  });

  it("takes names of exactly 1,024 bytes", async () => {
    await call("set", { scope: "é".repeat(512), key: "k".repeat(1_024), value: 1 });
    expect(await call("list_groups", {})).toEqual({ groups: ["é".repeat(512)] });
  });

  it("refuses a value over the limit, naming both sizes", async () => {
    await call("set", { scope: "s", key: "k", value: "x".repeat(998) });
    await expect(call("set", { scope: "s", key: "k", value: "é".repeat(500) })).rejects.toMatchObject({
      code: "payload_too_large",
      details: { bytes: 1_002, limit: 1_000 },
    });
  });

  it("keeps a value nested 128 levels deep, and refuses a deeper one, naming the depth", async () => {
    const nested = (levels: number): string => "[".repeat(levels) + "]".repeat(levels);
    const set = (levels: number): Promise<string> =>
      answerText(engine, "state::set", `{"scope":"s","key":"deep","value":${nested(levels)}}`);
    await set(128);
    expect(await answerText(engine, "state::entries", '{"scope":"s"}')).toContain(`"value":${nested(128)}`);
    for (const [levels, limit] of [
      [129, 128],
      [136, 136],
      [10_000, 136],
    ] as const) {
      await expect(set(levels)).rejects.toMatchObject({
        code: "invalid_input",
        message: expect.stringContaining(`nested deeper than ${limit} levels`),
      });
    }
    expect(await call("get_entry", { scope: "s", key: "deep" })).toMatchObject({ version: 1 });
  });

  it("keeps the digits of numbers, and sees that a value is the same in another spelling", async () => {
    const value = '{"big":9007199254740993,"exact":0.10,"huge":1e400}';
    expect(
      await answerText(
        engine,
        "state::set",
        `{"scope":"s","key":"k","value": { "big" : 9007199254740993,\n"exact":0.10, "huge":1e400 } }`,
      ),
    ).toContain(`"new_value":${value},"version":1`);
    expect(
      await answerText(
        engine,
        "state::set",
        `{"scope":"s","key":"k","data":{"b\\u0069g":9007199254740993,"exact":0.10,"huge":1e400}}`,
      ),
    ).toContain(`"old_value":${value},"new_value":${value},"version":1`);
    expect(await answerText(engine, "state::get", '{"scope":"s","key":"k"}')).toBe(value);
    expect(await answerText(engine, "state::entries", '{"scope":"s"}')).toContain(`"value":${value}`);
  });

  it("refuses what is no JSON", async () => {
    for (const wrong of ["01", "nul", '{"a":}', "[1,]"]) {
      await expect(answerText(engine, "state::set", `{"scope":"s","key":"k","value":${wrong}}`)).rejects.toMatchObject({
        code: "invalid_message",
      });
    }
    expect(await call("list", { scope: "s" })).toEqual([]);
  });
});

describe("listing state", () => {
  beforeEach(async () => {
    for (const key of ["b", "a", "user:2", "user:1"]) await call("set", { scope: "s", key, value: `value of ${key}` });
  });

  it("answers the values of a scope in the order of their keys", async () => {
    expect(await call("list", { scope: "s" })).toEqual([
      "value of a",
      "value of b",
      "value of user:1",
      "value of user:2",
    ]);
    expect(await call("list", { scope: "empty" })).toEqual([]);
  });

  it("answers items with key, version, time and size, page by page", async () => {
    clock.advance(5_000);
    await call("set", { scope: "s", key: "b", value: "é" });
    const updated_at = new Date(clock.now()).toISOString();
    const first = (await call("entries", { scope: "s", limit: 2 })) as {
      items: unknown[];
      cursor: string;
      total: number;
    };
    expect(first).toMatchObject({
      items: [
        { key: "a", version: 1 },
        { key: "b", value: "é", version: 2, updated_at, bytes: 4 },
      ],
      total: 4,
      cursor: expect.any(String),
    });
    expect(await call("entries", { scope: "s", limit: 2, cursor: first.cursor })).toMatchObject({
      items: [{ key: "user:1" }, { key: "user:2" }],
      total: 4,
      cursor: null,
    });
    expect(await call("entries", { scope: "s", prefix: "user:" })).toMatchObject({
      items: [{ key: "user:1" }, { key: "user:2" }],
      total: 2,
      cursor: null,
    });
    expect(await call("entries", { scope: "empty", cursor: null })).toEqual({ items: [], total: 0, cursor: null });
  });

  it("answers one item, or null", async () => {
    expect(await call("get_entry", { scope: "s", key: "a" })).toEqual({
      key: "a",
      value: "value of a",
      version: 1,
      updated_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
      bytes: 12,
    });
    expect(await call("get_entry", { scope: "s", key: "never" })).toBeNull();
  });

  it.each([
    { cursor: "nonsense" },
    { cursor: Buffer.from("k2:a").toString("base64url") },
    { limit: 0 },
    { limit: 1_001 },
    { prefix: "\udc00" },
  ])("refuses %j with invalid_input", async (wrong) => {
    await expect(call("entries", { scope: "s", ...wrong })).rejects.toMatchObject({
      code: "invalid_input",
      message: expect.stringContaining(`\`${Object.keys(wrong)[0]}\``),
    });
  });

  it("lists the scopes that hold something, with any input", async () => {
    await call("set", { scope: "other", key: "k", value: 1 });
    await call("delete", { scope: "other", key: "k" });
    expect(await call("list_groups", {})).toEqual({ groups: ["s"] });
    expect(await call("list_groups", null)).toEqual({ groups: ["s"] });
  });
});

describe("the module svc-state", () => {
  it("keeps values in the data folder over a stop and a start", async () => {
    const dataDir = mkdtempSync(join(tmpdir(), "svc-state-module-"));
    for (const expected of [null, 5]) {
      const running = await inMemoryEngine({ modules: [state], config: { "svc-state": {} }, dataDir });
      expect(await running.call("state::get", { scope: "math", key: "total" })).toBe(expected);
      await running.call("state::set", { scope: "math", key: "total", value: 5 });
      await running.stop();
    }
    rmSync(dataDir, { recursive: true });
  });

  it("applies another limit while it runs, and restarts for another adapter", async () => {
    const apply = (config: unknown): Promise<string[]> => engine.applyModules([{ name: "svc-state", config }]);
    await call("set", { scope: "s", key: "k", value: "x".repeat(500) });
    expect(await apply({ adapter: { name: "in_memory" }, max_value_bytes: 100 })).toEqual([]);
    expect(await call("get", { scope: "s", key: "k" })).toBe("x".repeat(500));
    await expect(call("set", { scope: "s", key: "k", value: "y".repeat(500) })).rejects.toMatchObject({
      code: "payload_too_large",
      details: { limit: 100 },
    });
    expect(await apply({ adapter: { name: "in_memory", config: { max_bytes: 2_000 } } })).toEqual([]);
    expect(await call("list_groups", {})).toEqual({ groups: [] });
  });

  it("refuses writes above the memory limit, and continues", async () => {
    await engine.applyModules([
      { name: "svc-state", config: { adapter: { name: "in_memory", config: { max_bytes: 2_000 } } } },
    ]);
    await expect(call("set", { scope: "s", key: "k", value: "x".repeat(2_000) })).rejects.toMatchObject({
      code: "storage_failed",
    });
    expect(await call("set", { scope: "s", key: "k", value: 1 })).toMatchObject({ version: 1 });
  });

  it("names size and limit of a value of 20 MB", async () => {
    await expect(call("set", { scope: "s", key: "k", value: "x".repeat(20_000_000) })).rejects.toMatchObject({
      code: "payload_too_large",
      details: { bytes: 20_000_002, limit: 1_000 },
    });
  });

  it("serves workers over the wire", async () => {
    const worker = await engine.connectWorker();
    expect(await worker.call("state::set", { scope: "s", key: "k", value: { n: 1 } })).toMatchObject({
      result: { old_value: null, new_value: { n: 1 }, version: 1 },
    });
    expect(await worker.call("state::get", { scope: "", key: "k" })).toMatchObject({
      error: { code: "invalid_input" },
    });
  });
});
