import type { ChannelRef } from "@svc-runtime/protocol";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { ChannelWriter } from "../../../kernel/module.ts";
import { type InMemoryEngine, type ManualClock, manualClock } from "../../../testing/index.ts";
import { answerText, stateEngine, textOf } from "../testing/state-engine.ts";

const START = Date.UTC(2026, 0, 1);
let clock: ManualClock;
let engine: InMemoryEngine;
beforeEach(async () => {
  clock = manualClock(START);
  engine = await stateEngine({ clock, maxValueBytes: 100_000 });
});
afterEach(() => engine.stop());

function call(name: string, input: unknown): Promise<unknown> {
  return engine.call(`state::${name}`, input);
}

async function exported(input: Readonly<Record<string, unknown>> = {}): Promise<string> {
  const { lines } = (await call("export", input)) as { readonly lines: ChannelRef };
  return textOf(engine.takeReader(lines));
}

/** Starts an import of the lines that are written to `writer`. */
function importing(input: Readonly<Record<string, unknown>> = {}): {
  readonly writer: ChannelWriter;
  readonly answer: Promise<unknown>;
} {
  const channel = engine.kernel.channels.create();
  const answer = call("import", { lines: channel.ref("read"), ...input });
  answer.catch(() => {});
  return { writer: engine.takeWriter(channel.ref("write")), answer };
}

async function importText(text: string, input: Readonly<Record<string, unknown>> = {}): Promise<unknown> {
  const { writer, answer } = importing(input);
  await writer.write({ kind: "text", text });
  writer.end();
  return answer;
}

/** Waits until all work without timers is done. */
async function turns(): Promise<void> {
  for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve));
}

function line(key: string, value: unknown): string {
  return JSON.stringify({ scope: "s", key, value });
}

describe("state::export", () => {
  it("writes every item as a line of JSON, digits and ends included (gap 77)", async () => {
    await answerText(engine, "state::set", '{"scope":"b","key":"k\\n","value":9007199254740993}');
    await call("set", { scope: "a", key: "é", value: { a: "\n" }, expires_in_ms: 5_000 });
    expect(await exported()).toBe(
      `${[
        '{"scope":"a","key":"é","value":{"a":"\\n"},"version":1,"updated_at":"2026-01-01T00:00:00.000Z","expires_at":"2026-01-01T00:00:05.000Z"}',
        '{"scope":"b","key":"k\\n","value":9007199254740993,"version":1,"updated_at":"2026-01-01T00:00:00.000Z"}',
      ].join("\n")}\n`,
    );
  });

  it("may be of one scope, and of one prefix of keys", async () => {
    for (const [scope, key] of [
      ["a", "x:1"],
      ["a", "y"],
      ["b", "x:2"],
    ])
      await call("set", { scope, key, value: 1 });
    const keysOf = async (input: Readonly<Record<string, unknown>>) =>
      (await exported(input))
        .split("\n")
        .filter((text) => text !== "")
        .map((text) => (JSON.parse(text) as { key: string }).key);
    expect(await keysOf({ scope: "a" })).toEqual(["x:1", "y"]);
    expect(await keysOf({ prefix: "x:" })).toEqual(["x:1", "x:2"]);
    expect(await keysOf({ scope: "never" })).toEqual([]);
  });

  it("runs only as fast as it is read, and can be cancelled by its reader", async () => {
    for (let index = 0; index < 60; index++)
      await call("set", { scope: "s", key: `k${index}`, value: "x".repeat(90_000) });
    const { lines } = (await call("export", {})) as { readonly lines: ChannelRef };
    const reader = engine.takeReader(lines);
    expect((await reader.read())?.kind).toBe("text");
    await turns();
    const channel = engine.kernel.channels.find(lines.channel_id, lines.access_key, "read");
    expect(channel?.isFull).toBe(true);
    reader.cancel();
    expect(await exported({ scope: "never" })).toBe("");
  });

  it("is aborted when the module stops, so that a partial export is not mistaken for a complete one", async () => {
    for (let index = 0; index < 60; index++)
      await call("set", { scope: "s", key: `k${index}`, value: "x".repeat(90_000) });
    const reader = engine.takeReader(((await call("export", {})) as { readonly lines: ChannelRef }).lines);
    await reader.read();
    await engine.applyModules([]);
    while ((await reader.read()) !== undefined);
    expect(reader.ended).toBe("aborted");
  });

  it("aborts if its reader reads nothing for five minutes, and at most 16 run at once", async () => {
    for (let index = 0; index < 20; index++)
      await call("set", { scope: "s", key: `k${index}`, value: "x".repeat(90_000) });
    const readers = [];
    for (let index = 0; index < 16; index++)
      readers.push(engine.takeReader(((await call("export", {})) as { readonly lines: ChannelRef }).lines));
    await expect(call("export", {})).rejects.toMatchObject({ code: "overloaded" });
    await turns();
    clock.advance(300_000);
    await turns();
    expect(await exported({ scope: "never" })).toBe("");
    for (const reader of readers) {
      while ((await reader.read()) !== undefined);
      expect(reader.ended).toBe("aborted");
    }
  });
});

describe("state::import", () => {
  it("brings back what was exported, digits, ends and odd names included (gap 77)", async () => {
    await answerText(
      engine,
      "state::set",
      '{"scope":"constructor","key":"\\u0000/ k","value":[9007199254740993,{"__proto__":1.0}]}',
    );
    await call("set", { scope: "s", key: "ends", value: null, expires_in_ms: 5_000 });
    await call("set", { scope: "s", key: "stays", value: "" });
    const text = await exported();
    await call("delete_many", { scope: "constructor", prefix: "" });
    await call("delete_many", { scope: "s", prefix: "" });
    expect(await importText(text)).toEqual({ imported: 3, skipped: 0 });
    const withoutVersions = (lines: string): string => lines.replaceAll(/"version":\d+/g, "");
    expect(withoutVersions(await exported())).toBe(withoutVersions(text));
  });

  it("takes pieces that are cut anywhere, in text or bytes, with any line ends", async () => {
    const bytes = Buffer.from(`${line("é", "😀")}\r\n\n  \n${line("b", 2)}\n${line("c", 3)}`);
    const { writer, answer } = importing();
    for (const byte of bytes) await writer.write({ kind: "binary", bytes: Buffer.from([byte]) });
    writer.end();
    expect(await answer).toEqual({ imported: 3, skipped: 0 });
    expect(await call("list", { scope: "s" })).toEqual([2, 3, "😀"]);
  });

  it("overwrites, skips or fails at existing items, as requested", async () => {
    await call("set", { scope: "s", key: "b", value: "old" });
    const text = ["a", "b", "c", "a"].map((key, index) => line(key, index)).join("\n");
    await expect(importText(text, { on_existing: "fail" })).rejects.toMatchObject({
      code: "state_conflict",
      message: 'line 2: "b" in scope "s" already exists; 1 lines before it were imported, 0 skipped',
      details: { line: 2, imported: 1, skipped: 0 },
    });
    expect(await call("list", { scope: "s" })).toEqual([0, "old"]);
    expect(await importText(text, { on_existing: "skip" })).toEqual({ imported: 1, skipped: 3 });
    expect(await call("list", { scope: "s" })).toEqual([0, "old", 2]);
    expect(await importText(text)).toEqual({ imported: 4, skipped: 0 });
    expect(await call("list", { scope: "s" })).toEqual([3, 1, 2]);
  });

  it("gives an item the version of its line, but not one that has its value already", async () => {
    for (const key of ["other", "same"]) await call("set", { scope: "s", key, value: key });
    const lines = ["other", "same"].map((key) => JSON.stringify({ scope: "s", key, value: "same", version: 7 }));
    expect(await importText(lines.join("\n"))).toEqual({ imported: 2, skipped: 0 });
    expect(await call("get_entry", { scope: "s", key: "other" })).toMatchObject({ version: 7 });
    expect(await call("get_entry", { scope: "s", key: "same" })).toMatchObject({ version: 1 });
  });

  it("overwrites values that are large together with small ones", async () => {
    await engine.stop();
    engine = await stateEngine({ clock });
    const large = "x".repeat(4 * 1024 * 1024);
    for (let index = 0; index < 20; index++) await call("set", { scope: "s", key: `k${index}`, value: large });
    expect(await importText(Array.from({ length: 20 }, (_, index) => line(`k${index}`, index)).join("\n"))).toEqual({
      imported: 20,
      skipped: 0,
    });
    expect(await call("list", { scope: "s" })).toHaveLength(20);
  });

  it("leaves out items whose time is over", async () => {
    const ends = (ms: number): string => new Date(START + ms).toISOString();
    const text = `{"scope":"s","key":"a","value":1,"expires_at":"${ends(-1)}"}\n{"scope":"s","key":"b","value":2,"expires_at":"${ends(1_000)}"}`;
    expect(await importText(text)).toEqual({ imported: 1, skipped: 1 });
    expect(await call("get_entry", { scope: "s", key: "b" })).toMatchObject({ expires_at: ends(1_000) });
  });

  it.each([
    ["nonsense", "invalid_input", /^line 3: is not JSON: /],
    ["[1]", "invalid_input", /^line 3: is not a JSON object/],
    ['{"scope":"s","key":"k"}', "invalid_input", /^line 3: `value`: is missing/],
    ['{"scope":"s","key":"","value":1}', "invalid_input", /^line 3: `key`: must not be empty/],
    ['{"scope":"s","key":"k","value":1,"expires_at":"soon"}', "invalid_input", /^line 3: `expires_at`/],
    [
      `{"scope":"s","key":"k","value":${"[".repeat(129)}${"]".repeat(129)}}`,
      "invalid_input",
      /^line 3: `value`: is nested deeper than 128 levels/,
    ],
    [
      `{"scope":"s","key":"k","value":${"[".repeat(10_000)}`,
      "invalid_input",
      /^line 3: is nested deeper than 136 levels/,
    ],
    [line("k", "x".repeat(100_000)), "payload_too_large", /^line 3: `value`: is 100002 bytes of JSON; at most 100000/],
    [`${" ".repeat(400_000)}`, "payload_too_large", /^line 3: is longer than the maximum of \d+ characters/],
  ])("ends at a bad line like %.60s, naming it; the lines before it are stored", async (bad, code, message) => {
    await expect(importText(`${line("a", 1)}\n\n${bad}\n${line("b", 2)}`)).rejects.toMatchObject({
      code,
      message: expect.stringMatching(message),
      details: { line: 3, imported: 1, skipped: 0, executed: "yes" },
      executed: "yes",
    });
    expect(await call("list", { scope: "s" })).toEqual([1]);
  });

  it("is an error when the stream breaks off, and when it is no UTF-8; the whole lines before that are stored", async () => {
    const torn = importing();
    await torn.writer.write({ kind: "text", text: `${line("a", 1)}\n{"scope":"s",` });
    torn.writer.abort("the worker died");
    await expect(torn.answer).rejects.toMatchObject({
      code: "channel_closed",
      details: { line: 2, imported: 1, skipped: 0 },
    });
    const garbled = importing();
    await garbled.writer.write({ kind: "binary", bytes: Buffer.from(`${line("b", 1)}\n`) });
    await garbled.writer.write({ kind: "binary", bytes: Buffer.from([0xff]) });
    await expect(garbled.answer).rejects.toMatchObject({ code: "invalid_input", details: { line: 2, imported: 1 } });
    expect(await call("list", { scope: "s" })).toEqual([1, 1]);
  });

  it("throttles its writer while it stores, so that memory stays bounded", async () => {
    const { writer, answer } = importing();
    const text = `${line("k", "x".repeat(90_000))}\n`;
    for (let index = 0; index < 300; index++) expect(await writer.write({ kind: "text", text })).toBe(true);
    writer.end();
    expect(await answer).toEqual({ imported: 300, skipped: 0 });
  });

  it("cuts its writer off when the caller gives up", async () => {
    const channel = engine.kernel.channels.create();
    const abort = new AbortController();
    const answer = engine.call("state::import", { lines: channel.ref("read") }, { signal: abort.signal });
    const writer = engine.takeWriter(channel.ref("write"));
    const gone = new Promise<void>((resolve) => writer.onClosed(resolve));
    abort.abort();
    await expect(answer).rejects.toMatchObject({ code: "call_cancelled" });
    await gone;
  });

  it("counts no import any more whose caller gave up, also when nothing came", async () => {
    for (let index = 0; index < 17; index++) {
      const abort = new AbortController();
      const answer = engine.call(
        "state::import",
        { lines: engine.kernel.channels.create().ref("read") },
        { signal: abort.signal },
      );
      abort.abort();
      await expect(answer).rejects.toMatchObject({ code: "call_cancelled" });
      await turns();
    }
    expect(await importText(line("a", 1))).toEqual({ imported: 1, skipped: 0 });
  });

  it("refuses refs that open nothing", async () => {
    const channel = engine.kernel.channels.create();
    const ref = channel.ref("read");
    await expect(call("import", { lines: { ...ref, access_key: "guessed" } })).rejects.toMatchObject({
      code: "NOT_FOUND",
    });
    await expect(call("import", { lines: channel.ref("write") })).rejects.toMatchObject({ code: "invalid_input" });
    await expect(call("import", { lines: "nonsense" })).rejects.toMatchObject({ code: "invalid_input" });
  });
});
