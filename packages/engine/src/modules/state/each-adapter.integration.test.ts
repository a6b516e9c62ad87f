import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { openItems } from "../../items/open-items.ts";
import { type RedisServer, startRedisServer } from "../../items/testing/redis-server.ts";
import { systemClock } from "../../kernel/clock.ts";
import { silentLogger } from "../../kernel/logger.ts";
import { openStore } from "../../store/open-store.ts";
import { type InMemoryEngine, inMemoryEngine } from "../../testing/index.ts";
import { type StateConfig, stateConfigSchema } from "./config.ts";
import { state } from "./index.ts";
import { answerText, textOf } from "./testing/state-engine.ts";
import { type ChangeListener, Writes } from "./writes.ts";

const root = mkdtempSync(join(tmpdir(), "svc-state-adapters-"));
afterAll(() => rmSync(root, { recursive: true, force: true }));

const WORKERS = 4;
const INCREMENTS = 1_000;
const IN_FLIGHT = 50;

let redis: RedisServer;
let spaces = 0;
beforeAll(async () => {
  redis = await startRedisServer();
});
afterAll(() => redis.stop());

interface AdapterCase {
  readonly name: string;
  readonly durability: string | undefined;
  readonly adapter: () => unknown;
}

const adapters: readonly AdapterCase[] = [
  { name: "in_memory", durability: "memory", adapter: () => ({ name: "in_memory" }) },
  { name: "file_based", durability: undefined, adapter: () => ({ name: "file_based" }) },
  {
    name: "file_based, relaxed",
    durability: "relaxed",
    adapter: () => ({ name: "file_based", config: { durability: "relaxed" } }),
  },
  // The server does not sync its log.
  {
    name: "redis",
    durability: "memory",
    adapter: () => ({ name: "redis", config: { redis_url: redis.url, key_prefix: `${++spaces}:` } }),
  },
];

describe.each(adapters)("svc-state on $name", ({ adapter, durability }) => {
  let config: StateConfig;
  let dataDir: string;
  let engine: InMemoryEngine;

  beforeEach(async () => {
    const block = { adapter: adapter() };
    config = stateConfigSchema.parse(block);
    dataDir = mkdtempSync(join(root, "data-"));
    engine = await inMemoryEngine({ modules: [state], config: { "svc-state": block }, dataDir });
  });
  afterEach(() => engine.stop());

  const call = (name: string, input: unknown): Promise<unknown> => engine.call(`state::${name}`, input);

  it("counts exactly when four workers make 1,000 contended increments each (S-2)", async () => {
    const workers = await Promise.all(Array.from({ length: WORKERS }, () => engine.connectWorker()));
    const increment = { scope: "s", key: "counter", ops: [{ type: "increment", path: ["n"], by: 1 }] };
    const count = async (worker: (typeof workers)[number]): Promise<void> => {
      for (let done = 0; done < INCREMENTS; done += IN_FLIGHT) {
        const answers = await Promise.all(
          Array.from({ length: IN_FLIGHT }, () => worker.call("state::update", increment)),
        );
        for (const answer of answers) expect(answer.error).toBeNull();
      }
    };
    await Promise.all(workers.map(count));
    expect(await call("get_entry", { scope: "s", key: "counter" })).toMatchObject({
      value: { n: WORKERS * INCREMENTS },
      version: WORKERS * INCREMENTS,
    });
  }, 60_000);

  it("lets exactly one of many writers win each version (gap 34)", async () => {
    await call("set", { scope: "s", key: "k", value: 0 });
    for (let version = 1; version <= 20; version++) {
      const outcomes = await Promise.allSettled(
        Array.from({ length: 10 }, (_, writer) =>
          call("set", { scope: "s", key: "k", value: [version, writer], if_version: version }),
        ),
      );
      expect(outcomes.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
    }
    expect(await call("get_entry", { scope: "s", key: "k" })).toMatchObject({ version: 21 });
  });

  it("says how durable an answer is where it is less than durable (gap 39)", async () => {
    expect(((await call("set", { scope: "s", key: "k", value: 1 })) as { durability?: string }).durability).toBe(
      durability,
    );
    expect(
      (
        (await call("update", { scope: "s", key: "k", ops: [{ type: "remove", path: "x" }] })) as {
          durability?: string;
        }
      ).durability,
    ).toBe(durability);
    expect(
      ((await call("set_many", { items: [{ scope: "s", key: "k", value: 2 }] })) as { durability?: string }).durability,
    ).toBe(durability);
  });

  it("lists keys with values, versions and sizes, page by page and by prefix (gap 35)", async () => {
    await call("set_many", { items: ["b", "a/1", "a/2", "é", "a"].map((key) => ({ scope: "s", key, value: key })) });
    const first = (await call("entries", { scope: "s", limit: 3 })) as {
      readonly items: { readonly key: string }[];
      readonly cursor: string;
    };
    const second = (await call("entries", { scope: "s", limit: 3, cursor: first.cursor })) as typeof first;
    expect([...first.items, ...second.items].map(({ key }) => key)).toEqual(["a", "a/1", "a/2", "b", "é"]);
    expect(second.cursor).toBeNull();
    expect(await call("entries", { scope: "s", prefix: "a/" })).toMatchObject({
      items: [{ key: "a/1", value: "a/1", version: 1, bytes: 5, updated_at: expect.any(String) }, { key: "a/2" }],
      total: 2,
    });
    expect(await call("groups", {})).toMatchObject({ items: [{ scope: "s", items: 5 }] });
  });

  it("keeps digits, odd names and ends through an export, a deletion of everything and an import (gap 77)", async () => {
    const names = ["a/b c", "constructor", "😀", "\u0000", ":", "x".repeat(1_024)];
    for (const name of names) await call("set", { scope: name, key: name, value: { __proto__x: name } });
    await answerText(
      engine,
      "state::set",
      '{"scope":"n","key":"big","value":{"__proto__":[9007199254740993,1e400,0.10]},"expires_in_ms":3600000}',
    );
    const text = await exported();
    const { groups } = (await call("list_groups", {})) as { readonly groups: string[] };
    expect(groups).toHaveLength(names.length + 1);
    for (const scope of groups) await call("delete_many", { scope, prefix: "" });
    expect(await exported()).toBe("");
    const channel = engine.kernel.channels.create();
    const answer = call("import", { lines: channel.ref("read") });
    const writer = engine.takeWriter(channel.ref("write"));
    await writer.write({ kind: "text", text });
    writer.end();
    expect(await answer).toEqual({ imported: names.length + 1, skipped: 0 });
    const essence = (lines: string): string => lines.replaceAll(/"version":\d+,"updated_at":"[^"]+"/g, "");
    expect(essence(await exported())).toBe(essence(text));
    expect(text).toContain('"value":{"__proto__":[9007199254740993,1e400,0.10]}');
  });

  it("gives imported items the versions of their lines, and a higher one where the key has had that", async () => {
    await call("set", { scope: "s", key: "kept", value: 1 });
    const line = (key: string, version: number): string =>
      `${JSON.stringify({ scope: "s", key, value: 2, version })}\n`;
    const imported = async (text: string): Promise<unknown> => {
      const channel = engine.kernel.channels.create();
      const answer = call("import", { lines: channel.ref("read") });
      const writer = engine.takeWriter(channel.ref("write"));
      await writer.write({ kind: "text", text });
      writer.end();
      return answer;
    };
    const versions = async (): Promise<unknown> =>
      ((await call("entries", { scope: "s" })) as { items: { key: string; version: number }[] }).items.map(
        ({ key, version }) => [key, version],
      );
    expect(await imported(line("kept", 1) + line("new", 7))).toEqual({ imported: 2, skipped: 0 });
    expect(await versions()).toEqual([
      ["kept", 2],
      ["new", 7],
    ]);
    await call("set", { scope: "s", key: "new", value: 3 });
    await call("delete", { scope: "s", key: "new" });
    await imported(line("new", 7));
    expect(await versions()).toEqual([
      ["kept", 2],
      ["new", 10],
    ]);
    await expect(imported(line("new", 0))).rejects.toMatchObject({ code: "invalid_input", details: { line: 1 } });
  });

  async function exported(): Promise<string> {
    const { lines } = (await call("export", {})) as { readonly lines: unknown };
    return textOf(engine.takeReader(lines));
  }

  it("writes a snapshot of the moment while others write (gap 77)", async () => {
    await call("set", { scope: "s", key: "k", value: [1, 2] });
    const [answer] = await Promise.all([call("snapshot", {}), call("set", { scope: "s", key: "later", value: 1 })]);
    expect(answer).toMatchObject({
      file: expect.stringMatching(/snapshots\/state-\d{8}T\d{6}Z\.(db|ndjson)$/),
      bytes: expect.any(Number),
    });
    expect(await call("snapshot", { name: "mine.snap" })).toMatchObject({
      file: join(dataDir, "snapshots", "mine.snap"),
    });
    await expect(call("snapshot", { name: "mine.snap" })).rejects.toMatchObject({
      code: "invalid_input",
      message: expect.stringContaining("already exists"),
    });
    for (const name of ["../x", ".hidden", "a/b", "", "x".repeat(101)]) {
      await expect(call("snapshot", { name })).rejects.toMatchObject({
        code: "invalid_input",
        message: expect.stringContaining("`name`"),
      });
    }
  });

  it("writes one snapshot at a time, so that none is written over another", async () => {
    await call("set", { scope: "s", key: "k", value: 1 });
    const outcomes = await Promise.allSettled([
      call("snapshot", { name: "one.snap" }),
      call("snapshot", { name: "one.snap" }),
    ]);
    expect(outcomes).toMatchObject([{ status: "fulfilled" }, { status: "rejected", reason: { code: "overloaded" } }]);
    expect(await call("snapshot", { name: "two.snap" })).toMatchObject({
      file: join(dataDir, "snapshots", "two.snap"),
    });
  });

  it("notifies its listener of every change of a key in the order of versions, whatever caused it", async () => {
    await engine.stop();
    const store = await openItems(config.adapter, { dataDir, log: silentLogger, clock: systemClock, openStore });
    const versions: number[] = [];
    const listener: ChangeListener = {
      notice: () => undefined,
      unclear: () => {},
      changed: (changes) => versions.push(...changes.map(({ version }) => version)),
    };
    const writes = new Writes({ store, clock: systemClock, listener, onExpiry: () => {} });
    const address = { scope: "s", key: "k", ifVersion: undefined };
    const value = (number: number) => ({ json: String(number), bytes: String(number).length });
    const ops = [{ type: "increment" as const, path: "", by: 1_000 }];
    const pending: Promise<unknown>[] = [];
    for (let round = 0; round < 100; round++) {
      pending.push(writes.set({ ...address, value: value(round), expiresAt: undefined }, {}));
      pending.push(writes.update({ ...address, ops, atomic: true, maxBytes: 1_000, expiresAt: "keep" }, {}));
      pending.push(writes.setMany([{ ...address, value: value(-round - 1), expiresAt: undefined }], {}));
      pending.push(writes.delete(address, {}));
      pending.push(writes.deleteMany("s", ["k"], {}));
    }
    await Promise.all(pending);
    await store.close();
    expect(versions).toEqual(Array.from({ length: 400 }, (_, index) => index + 1));
  });
});
