import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { startRedisServer } from "../../items/testing/redis-server.ts";
import { type InMemoryEngine, inMemoryEngine } from "../../testing/index.ts";
import { streamConfigSchema } from "./config.ts";
import { stream } from "./index.ts";
import { expectEventsInOrder } from "./testing/writers.ts";

let dataDir: string;
let engine: InMemoryEngine | undefined;

beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), "svc-stream-module-"));
});
afterEach(async () => {
  await engine?.stop();
  engine = undefined;
  rmSync(dataDir, { recursive: true, force: true });
});

async function start(config: object = {}): Promise<InMemoryEngine> {
  await engine?.stop();
  engine = await inMemoryEngine({ modules: [stream], config: { "svc-stream": config }, dataDir });
  return engine;
}

const item = { stream_name: "s", group_id: "g", item_id: "1" };

describe("the module svc-stream", () => {
  it("keeps items over a restart, versions too, and those of memory_streams only as long as it runs (R-1)", async () => {
    const first = await start({ memory_streams: ["live-*", "cursors"] });
    expect(await first.call("stream::set", { ...item, data: 1 })).toEqual({
      old_value: null,
      new_value: 1,
      version: 1,
      seq: 1,
    });
    for (const stream_name of ["live-1", "cursors"])
      expect(await first.call("stream::set", { ...item, stream_name, data: 1 })).toMatchObject({
        durability: "memory",
      });
    expect(await first.call("stream::list_all")).toMatchObject({ count: 3 });
    const second = await start({ memory_streams: ["live-*", "cursors"] });
    expect(await second.call("stream::list_all")).toEqual({ stream: [{ id: "s", groups: ["g"] }], count: 1 });
    expect(await second.call("stream::set", { ...item, data: 2 })).toMatchObject({ old_value: 1, version: 2, seq: 1 });
  });

  it.each(["file_based", "redis"])(
    "publishes in order, and once, what concurrent writers wrote to %s",
    async (name) => {
      const redis = name === "redis" ? await startRedisServer() : undefined;
      try {
        const running = await start({
          adapter: redis === undefined ? { name } : { name, config: { redis_url: redis.url } },
        });
        await expectEventsInOrder(running);
      } finally {
        await engine?.stop();
        engine = undefined;
        await redis?.stop();
      }
    },
  );

  it("applies a new limit while it runs, and restarts for another adapter", async () => {
    const running = await start({ adapter: { name: "in_memory" } });
    await running.call("stream::set", { ...item, data: "1234567890" });
    expect(
      await running.applyModules([
        { name: "svc-stream", config: { adapter: { name: "in_memory" }, max_value_bytes: 5 } },
      ]),
    ).toEqual([]);
    expect(await running.call("stream::get", item)).toBe("1234567890");
    await expect(running.call("stream::set", { ...item, data: "1234567890" })).rejects.toMatchObject({
      code: "payload_too_large",
      details: { limit: 5 },
    });
    expect(await running.applyModules([{ name: "svc-stream", config: {} }])).toEqual([]);
    expect(await running.call("stream::get", item)).toBeNull();
    await running.call("stream::set", { ...item, data: 1 });
    expect(await running.applyModules([])).toEqual([]);
    await expect(running.call("stream::get", item)).rejects.toMatchObject({ code: "function_not_found" });
  });

  it("publishes what was asked for before it stops, and answers it", async () => {
    const running = await start();
    const socket = running.openSocket("/stream/s/g");
    await socket.next();
    const writes = Array.from({ length: 10 }, (_, n) =>
      running.call("stream::set", { ...item, item_id: String(n), data: n }),
    );
    expect(await running.applyModules([])).toEqual([]);
    expect((await Promise.all(writes)).map((answer) => (answer as { seq: number }).seq)).toEqual([
      1, 2, 3, 4, 5, 6, 7, 8, 9, 10,
    ]);
    expect(socket.take()).toHaveLength(10);
    expect(await socket.closed).toMatchObject({ code: 1012 });
  });

  it("says why it cannot start when another entry has started already", async () => {
    const running = await start({ adapter: { name: "in_memory" } });
    const problems = await running.applyModules([
      { name: "svc-stream", config: { adapter: { name: "in_memory" } } },
      { name: "svc-stream", instance: "svc-stream#2", config: { adapter: { name: "in_memory" } } },
    ]);
    expect(problems).toEqual([expect.stringContaining("svc-stream#2: ")]);
    expect(await running.call("stream::list_all")).toEqual({ stream: [], count: 0 });
  });

  it("lists its streams with groups, items and subscribers", async () => {
    const running = await start({ adapter: { name: "in_memory" } });
    await running.call("stream::set", { ...item, data: 1 });
    await running.call("stream::set", { ...item, item_id: "2", data: 1 });
    await running.openSocket("/stream/s/g").next();
    await running.openSocket("/stream/empty/h").next();
    expect((await running.kernel.streams.list()).filter(({ type }) => type === "user")).toEqual([
      { name: "empty", type: "user", groups: [{ group_id: "h", items: null, subscribers: 1 }], subscribers: 1 },
      { name: "s", type: "user", groups: [{ group_id: "g", items: 2, subscribers: 1 }], subscribers: 1 },
    ]);
  });
});

describe("the config of svc-stream", () => {
  it("has defaults for everything", () => {
    expect(streamConfigSchema.parse({})).toMatchObject({
      adapter: { name: "file_based", config: { file_path: "stream.db", durability: "durable" } },
      authFunction: undefined,
      guardedStreams: [],
      joinTimeoutMs: 5_000,
      maxValueBytes: 1_048_576,
      memoryStreams: [],
    });
  });

  it("understands older blocks", () => {
    const older = {
      port: 3112,
      host: "0.0.0.0",
      adapter: { name: "kv", config: { store_method: "file_based", file_path: "old.db", channel_size: 256 } },
    };
    expect(streamConfigSchema.parse(older).adapter).toMatchObject({
      name: "file_based",
      config: { file_path: "old.db" },
    });
  });

  it.each([
    [{ memory_streams: ["a*b"] }, "memory_streams.0"],
    [{ guarded_streams: "all" }, "guarded_streams"],
    [{ auth_function: "" }, "auth_function"],
    [{ join_timeout_ms: 0 }, "join_timeout_ms"],
    [{ max_value_bytes: 8_000_000 }, "max_value_bytes"],
    [{ colour: "red" }, ""],
  ])("refuses %j", (config, path) => {
    expect(streamConfigSchema.safeParse(config).error?.issues[0]?.path.join(".")).toBe(path);
  });
});
