// The SDK's stream client and helpers against the real engine, in this process.

import { once } from "node:events";
import { type AddressInfo, createConnection, createServer, type Socket } from "node:net";
import { startTestEngine, type TestEngine } from "@svc-runtime/engine/test-kit";
import {
  connect,
  connectStreams,
  type StreamClient,
  type StreamUpdate,
  silentLogger,
  type Worker,
} from "@svc-runtime/sdk";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";

let engine: TestEngine;
let worker: Worker;
const clients: StreamClient[] = [];
let group: { readonly streamName: string; readonly groupId: string };
let number = 0;

beforeAll(async () => {
  engine = await startTestEngine({ modules: ["svc-state", "svc-stream"] });
  worker = connect(engine.url, { handleSignals: false, logger: silentLogger });
  await worker.connected();
});

beforeEach(() => {
  group = { streamName: "todos", groupId: `g ${++number}/ü` };
});

afterEach(async () => {
  await Promise.all(clients.splice(0).map((client) => client.close()));
});

afterAll(async () => {
  await worker?.shutdown({ timeoutMs: 1 });
  await engine?.stop();
});

function open(): StreamClient {
  const client = connectStreams({ url: engine.streamsUrl, logger: silentLogger, reconnect: { initialDelayMs: 10 } });
  clients.push(client);
  return client;
}

/** Forwards connections to a port of this machine, and destroys them on demand. */
async function breakableProxy(port: number) {
  const open = new Set<Socket>();
  const made = { connections: 0 };
  const server = createServer((near) => {
    made.connections++;
    const far = createConnection({ port, host: "localhost" });
    for (const [one, other] of [
      [near, far],
      [far, near],
    ] as const) {
      open.add(one);
      one.on("error", () => {});
      one.on("close", () => {
        open.delete(one);
        other.destroy();
      });
      one.pipe(other);
    }
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  const cut = (): void => {
    for (const socket of open) socket.destroy();
  };
  return {
    url: `ws://127.0.0.1:${(server.address() as AddressInfo).port}`,
    get connections() {
      return made.connections;
    },
    cut,
    stop() {
      server.close();
      cut();
    },
  };
}

describe("a stream client", () => {
  it("receives the items, and then every change of a worker, in order", async () => {
    const items = worker.stream.group<{ n: number }>(group.streamName, group.groupId);
    await items.set("b", { n: 1 });
    await items.set("a", { n: 0 });
    const updates: StreamUpdate<{ n: number }>[] = [];
    const syncs: unknown[] = [];
    const subscription = open().subscribe<{ n: number }>(group, {
      onSync: (data, facts) => syncs.push([data, facts.itemIds]),
      onEvent: (update) => updates.push(update),
    });
    await expect.poll(() => subscription.status).toBe("live");
    expect(syncs).toEqual([
      [
        [{ n: 0 }, { n: 1 }],
        ["a", "b"],
      ],
    ]);
    const { version, seq } = await items.set("a", { n: 5 });
    await items.update("b", [{ type: "increment", path: "n", by: 2 }]);
    await items.send({ type: "cheer", data: { loud: true } });
    await items.send({ id: "a", type: "wink" });
    await items.delete("b");
    await expect.poll(() => updates).toHaveLength(5);
    expect(updates[0]).toMatchObject({ type: "update", id: "a", data: { n: 5 }, version, seq });
    expect(updates.slice(1)).toMatchObject([
      { type: "update", id: "b", data: { n: 3 }, version: 2 },
      { type: "event", id: null, event: { type: "cheer", data: { loud: true } } },
      { type: "event", id: "a", event: { type: "wink", data: null } },
      { type: "delete", id: "b", data: { n: 3 } },
    ]);
    expect(updates.map((update) => update.seq)).toEqual([0, 1, 2, 3, 4].map((more) => (seq ?? Number.NaN) + more));
  });

  it("keeps a collection up to date while a worker writes faster than one turn", async () => {
    const items = worker.stream.group<number>(group.streamName, group.groupId);
    const collection = open().collection<number>(group);
    await collection.ready;
    await Promise.all(Array.from({ length: 300 }, (_, index) => items.set(`i${index % 50}`, index)));
    await Promise.all(Array.from({ length: 10 }, (_, index) => items.delete(`i${index}`)));
    const truth = new Map<string, number>();
    for await (const { itemId, value } of items.entries({ pageSize: 7 })) truth.set(itemId, value);
    expect(truth.size).toBe(40);
    await expect.poll(() => new Map([...collection.items].sort())).toEqual(new Map([...truth].sort()));
  });

  it("receives every event once although its connection breaks repeatedly, and no gap while the engine runs (gap 41)", async () => {
    const items = worker.stream.group<number>(group.streamName, group.groupId);
    const proxy = await breakableProxy(Number(new URL(engine.streamsUrl).port));
    // The engine requires its own name as host.
    const headers = { host: new URL(engine.streamsUrl).host };
    const client = connectStreams({
      url: proxy.url,
      headers,
      logger: silentLogger,
      reconnect: { initialDelayMs: 5, maxDelayMs: 20 },
    });
    clients.push(client);
    const told: number[] = [];
    let syncs = 0;
    const gaps: unknown[] = [];
    const subscription = client.subscribe<number>(group, {
      onSync: () => syncs++,
      onGap: (gap) => gaps.push(gap),
      onEvent: (update) => {
        if (update.type !== "event") told.push(update.data);
      },
    });
    await expect.poll(() => subscription.status).toBe("live");
    for (let n = 1; n <= 300; n++) {
      await items.set(`i${n % 3}`, n);
      if (n % 60 === 30) proxy.cut();
    }
    await expect.poll(() => told.at(-1)).toBe(300);
    expect(told).toEqual(Array.from({ length: 300 }, (_, index) => index + 1));
    expect([syncs, gaps]).toEqual([1, []]);
    expect(proxy.connections).toBeGreaterThan(1);
    proxy.stop();
  });

  it("joins the engine's own streams, whose items contain their ids", async () => {
    const workers = open().collection<{ id: string; name: string }>({ streamName: "svc.workers", groupId: "all" });
    await workers.ready;
    expect([...workers.items.values()].map(({ name }) => name)).toContain(worker.name);
  });

  it("receives one item only, if that is all it joined, and an error if it may not join", async () => {
    const items = worker.stream.group<number>(group.streamName, group.groupId);
    const seen: unknown[] = [];
    const client = open();
    const subscription = client.subscribe<number>(
      { ...group, id: "a" },
      { onSync: (value) => seen.push(value), onEvent: (update) => seen.push(update.seq) },
    );
    await expect.poll(() => subscription.status).toBe("live");
    await items.set("b", 1);
    const { seq } = await items.set("a", 2);
    await expect.poll(() => seen).toEqual([null, seq]);

    worker.registerFunction("no::entry", () => ({ unauthorized: true }));
    const trigger = worker.registerTrigger({
      type: "stream:join",
      function_id: "no::entry",
      config: { streamName: "secrets" },
    });
    expect((await trigger.registered).status).toBe("active");
    const errors: string[] = [];
    const refused = client.subscribe(
      { streamName: "secrets", groupId: "g" },
      { onError: ({ code }) => errors.push(code) },
    );
    await expect.poll(() => refused.status).toBe("refused");
    expect(errors).toHaveLength(1);
    trigger.unregister();
    await expect.poll(() => refused.status).toBe("live");
  });
});

it("a stream client waits for the worker that authenticates it, as after a restart of the engine", async () => {
  const guarded = await startTestEngine({
    modules: ["svc-stream"],
    config: { "svc-stream": { auth_function: "clients::authenticate" } },
  });
  const client = connectStreams({
    url: guarded.streamsUrl,
    logger: silentLogger,
    reconnect: { initialDelayMs: 10, maxDelayMs: 50 },
  });
  const clerk = connect(guarded.url, { handleSignals: false, logger: silentLogger });
  try {
    await expect
      .poll(() => guarded.logs.filter(({ message }) => message === "a stream connection was refused").length)
      .toBeGreaterThan(1);
    clerk.registerFunction("clients::authenticate", () => ({ context: "ann" }));
    await client.connected();
  } finally {
    await Promise.all([client.close(), clerk.shutdown({ timeoutMs: 1 })]);
    await guarded.stop();
  }
});

describe("worker.state", () => {
  it("works as documented, on the real store", async () => {
    const math = worker.state.scope<{ total: number; names: string[] }>("math");
    expect(await math.set("total", 1)).toMatchObject({ oldValue: null, newValue: 1, version: 1 });
    await expect(math.set("total", 2, { ifVersion: 7 })).rejects.toMatchObject({
      code: "state_conflict",
      details: { expected: 7, actual: 1 },
    });
    expect(await math.update("total", [{ type: "increment", path: "", by: 4 }])).toMatchObject({
      oldValue: 1,
      newValue: 5,
      version: 2,
    });
    expect(
      await math.update("names", [
        { type: "increment", path: "x", by: 1 },
        { type: "append", path: [], value: "no" },
      ]),
    ).toMatchObject({
      errors: [{ opIndex: 1 }],
    });
    await math.setMany({ names: ["ann"], total: 6 });
    expect(await math.getMany(["names", "total"])).toMatchObject([{ value: ["ann"] }, { value: 6, version: 3 }]);
    expect(await worker.state.listGroups()).toContain("math");
    const sizes = [];
    for await (const size of worker.state.groups({ prefix: "math" })) sizes.push(size);
    expect(sizes).toMatchObject([{ scope: "math", items: 2 }]);
    expect(await math.delete("total")).toBe(6);
    expect(await math.deleteMany({ prefix: "" })).toEqual({ deleted: 1 });
    expect(await math.list()).toEqual([]);
  });

  it("exports what an import accepts, over channels, with every digit of lines", async () => {
    const { state } = worker;
    await state.import(
      (function* () {
        for (let index = 0; index < 5_000; index++)
          yield { scope: "big", key: `k${String(index).padStart(4, "0")}`, value: { index, text: "ü".repeat(50) } };
        yield '{"scope":"big","key":"z","value":12345678901234567890}';
      })(),
    );
    const lines: string[] = [];
    for await (const line of state.exportLines({ scope: "big" })) lines.push(line);
    expect(lines).toHaveLength(5_001);
    expect(lines.at(-1)).toContain('"value":12345678901234567890');
    expect(await state.import(lines, { onExisting: "skip" })).toEqual({ imported: 0, skipped: 5_001 });
    await expect(state.import(lines, { onExisting: "fail" })).rejects.toMatchObject({ code: expect.any(String) });
    await expect(state.import(["{oops"])).rejects.toMatchObject({ message: expect.stringContaining("1") });
    for await (const item of state.export({ scope: "big", prefix: "k0042" }))
      expect(item).toMatchObject({ key: "k0042", value: { index: 42 } });
  });

  it("has its events delivered to the functions of state triggers", async () => {
    const events: unknown[] = [];
    worker.registerFunction("on::change", (event) => {
      events.push(event);
    });
    const trigger = worker.registerTrigger({
      type: "state",
      function_id: "on::change",
      config: { scope: "watched", eventTypes: ["created", "state:deleted"] },
    });
    const { status } = await trigger.registered;
    expect(status).toBe("active");
    await worker.state.set("watched", "k", 1);
    await worker.state.set("watched", "k", 2);
    await worker.state.delete("watched", "k");
    await expect.poll(() => events).toHaveLength(2);
    expect(events).toMatchObject([
      {
        type: "state",
        event_type: "state:created",
        scope: "watched",
        key: "k",
        old_value: null,
        new_value: 1,
        version: 1,
      },
      { type: "state", event_type: "state:deleted", old_value: 2, new_value: null, version: 3 },
    ]);
  });
});
