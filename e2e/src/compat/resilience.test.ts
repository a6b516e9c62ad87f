import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startTestEngine, type TestEngine } from "./support/engine.ts";
import { ClientFailure, node11, node22, type PublishedClient, publishedClients, python11 } from "./support/published-client.ts";
import type { TappedConnection, WireTap } from "./support/wire-tap.ts";
import { quiet, workshop } from "./support/workshop.ts";

// Protocol section 18, statements 23 to 28: what a client takes from its engine, and what makes it come back.

const { client: start, connected, raw, tap } = workshop();
let engine: TestEngine;
beforeAll(async () => {
  engine = await startTestEngine();
});
afterAll(() => engine.stop());

/** Offers a function and waits until it can be called. */
async function offerEcho(worker: Awaited<ReturnType<typeof connected>>, id: string): Promise<void> {
  await worker.run("registerFunction", { id, behaviour: { kind: "echo" } });
  await worker.run("trigger", { function_id: "engine::functions::list", payload: {} });
}
const upgradesOf = (wire: WireTap): number => wire.upgrades.filter(({ path }) => path === "/").length;
const comesBack = (wire: WireTap, times = 2): Promise<true> => wire.until(() => (upgradesOf(wire) >= times ? true : undefined), `upgrade ${times} of /`);

describe.each(publishedClients)("frames to $name", (client) => {
  it("statement 23: an unknown type changes nothing", async () => {
    const wire = await tap(engine.address);
    const worker = await connected(client, wire.address);
    const { client: socket } = await wire.connection("/");
    const before = wire.frames.length;
    for (const frame of [{ type: "somethingnew", id: "x" }, { type: "error", error: { code: "registration_refused", message: "m" } }, { type: "pong" }]) {
      socket.send(JSON.stringify(frame));
    }
    await worker.run("trigger", { function_id: "engine::functions::list", payload: {} });
    const said = wire.frames.slice(before).filter((frame) => frame.from === "client");
    expect(said.map(({ json }) => json?.function_id)).toEqual(["engine::functions::list"]);
    expect(upgradesOf(wire)).toBe(1);
  });

  it("statement 24: protocol JSON in a binary frame is processed", async () => {
    const wire = await tap(engine.address);
    const worker = await connected(client, wire.address);
    await worker.run("registerFunction", { id: "binary::a", behaviour: { kind: "echo" } });
    const { client: socket } = await wire.connection("/");
    const call = { type: "invokefunction", invocation_id: "11111111-1111-4111-8111-111111111111", function_id: "binary::a", data: { a: 1 } };
    socket.send(Buffer.from(JSON.stringify(call)), { binary: true });
    expect((await worker.next(({ event }) => event === "called", "the call")).data).toEqual({ a: 1 });
    const answer = await wire.frame(({ from, json }) => from === "client" && json?.invocation_id === call.invocation_id, "the answer");
    expect(answer.json).toMatchObject({ type: "invocationresult", result: { a: 1 } });
  });
});

describe("an idle connection of iii-sdk 0.22.1", () => {
  // A minute of the client passes in six seconds.
  const timeFactor = 10;

  it("statement 25: pings at 20 s and 40 s, and without anything inbound gives up at 60 s and comes back", async () => {
    const pings: number[] = [];
    let openedAt = 0;
    let endedAt = 0;
    const wire = await tap(undefined, {
      swallowPings: true,
      onPlay: ({ client }: TappedConnection) => {
        if (openedAt !== 0) return;
        openedAt = performance.now();
        client.on("ping", () => pings.push(performance.now() - openedAt));
        client.once("close", () => {
          endedAt = performance.now() - openedAt;
        });
      },
    });
    const worker = await start(node22, { timeFactor });
    await worker.run("connect", { address: wire.address, options: { ...quiet, reconnectionConfig: {} } });
    await comesBack(wire);
    expect(wire.closes[0]).toMatchObject({ path: "/", code: 1006 });
    expect(pings.length).toBeGreaterThanOrEqual(2);
    // Never early; how late depends on what else the machine does.
    expect(pings[0]).toBeGreaterThan(19_000 / timeFactor);
    expect(pings[1]).toBeGreaterThan(39_000 / timeFactor);
    expect(endedAt).toBeGreaterThan(55_000 / timeFactor);
  });

  it("lives on with our engine, which answers its pings", async () => {
    const wire = await tap(engine.address);
    const worker = await connected(node22, wire.address, {}, { timeFactor });
    let pongs = 0;
    (await wire.connection("/")).client.on("ping", () => pongs++);
    // Eighty of its seconds, through a tap that carries no pings of ours: only the answers to its own keep it.
    await expect.poll(() => pongs, { timeout: 60_000 }).toBeGreaterThanOrEqual(4);
    await worker.run("trigger", { function_id: "engine::functions::list", payload: {} });
    expect(upgradesOf(wire)).toBe(1);
  });
});

describe.each(publishedClients)("$name under our own pings", (client) => {
  it("answers them", async () => {
    const wire = await tap(engine.address);
    await connected(client, wire.address);
    const { client: socket } = await wire.connection("/");
    const pong = new Promise((resolve) => socket.once("pong", (data: Buffer) => resolve(data.toString())));
    socket.ping("still there?");
    expect(await pong).toBe("still there?");
  });
});

describe.each([node11, node22])("refused connections of $name", (client) => {
  /** Milliseconds from the first of six attempts to the last. */
  async function sixAttempts(wire: WireTap): Promise<number> {
    const worker = await start(client);
    await worker.run("connect", { address: wire.address, options: { ...quiet, reconnectionConfig: { initialDelayMs: 150, jitterFactor: 0 } } });
    await comesBack(wire, 6);
    const times = wire.upgrades.map(({ atMs }) => atMs);
    return (times[5] as number) - (times[0] as number);
  }

  it("statement 26: are tried again after ever longer waits when the upgrade is answered 401", async () => {
    const wire = await tap(engine.address, { onUpgrade: () => ({ refuse: "401 Unauthorized" }) });
    expect(await sixAttempts(wire)).toBeGreaterThanOrEqual(150 * (1 + 2 + 4 + 8 + 16) * 0.95);
  });

  it("statement 26: are tried again at the same pace when the socket is accepted and closed", async () => {
    const wire = await tap(undefined, { onPlay: ({ client: socket }) => socket.close(1008, "no") });
    const took = await sixAttempts(wire);
    expect(took).toBeGreaterThanOrEqual(150 * 5 * 0.95);
    expect(took).toBeLessThan(150 * (1 + 2 + 4 + 8 + 16));
  });
});

describe.each(publishedClients)("closed connections of $name", (client) => {
  const closes: [string, (socket: TappedConnection["client"]) => void, boolean][] = [
    ["code 1000", (socket) => socket.close(1000), true],
    ["code 1001", (socket) => socket.close(1001), true],
    ["no code", (socket) => socket.close(), true],
    ["code 1012, as our engine ends a connection", (socket) => socket.close(1012, "restart"), false],
    ["no closing word, as when our engine stops", (socket) => socket.terminate(), false],
  ];
  it.each(closes)("statement 27: with %s", async (_what, close, isClean) => {
    const wire = await tap(engine.address);
    const worker = await connected(client, wire.address);
    await offerEcho(worker, `closed::${client.program}`);
    const { client: socket } = await wire.connection("/");
    const closed = new Promise((resolve) => socket.once("close", resolve));
    close(socket);
    await closed;
    if (client !== python11 || !isClean) {
      await comesBack(wire);
      expect(await worker.run("trigger", { function_id: `closed::${client.program}`, payload: { a: 1 } })).toEqual({ a: 1 });
      return;
    }
    // Its attempts begin after 100 ms: after a second there would have been three.
    await new Promise((resolve) => setTimeout(resolve, 1_000));
    expect(upgradesOf(wire)).toBe(1);
  });
});

describe("large frames to the Python client", () => {
  const overSize = "x".repeat(1_048_577);

  it("statement 28: make it close with 1009 and come back, when they are sent", async () => {
    const wire = await tap(engine.address);
    await connected(python11, wire.address);
    const { client: socket } = await wire.connection("/");
    socket.send(JSON.stringify({ type: "invokefunction", function_id: "big::a", data: overSize }));
    await comesBack(wire);
    expect(wire.closes[0]).toMatchObject({ path: "/", code: 1009 });
  });

  it("statement 28: are not sent by our engine; the caller hears why, and the connection lives", async () => {
    const wire = await tap(engine.address);
    const worker = await connected(python11, wire.address);
    await offerEcho(worker, "big::python");
    const caller = await raw(engine.address);
    expect((await caller.call("big::python", { data: overSize })).error).toMatchObject({ code: "payload_too_large" });
    expect((await caller.call("big::python", { data: "x".repeat(1_000_000) })).result).toHaveLength(1_000_000);
    expect(upgradesOf(wire)).toBe(1);
  });

  it("are answers too: the Python caller's own call fails, and its connection lives", async () => {
    const wire = await tap(engine.address);
    const caller = await connected(python11, wire.address);
    const callee = await connected(node22, engine.address);
    await callee.run("registerFunction", { id: "big::answer", behaviour: { kind: "value", value: overSize } });
    await callee.run("trigger", { function_id: "engine::functions::list", payload: {} });
    const failure = await caller.run("trigger", { function_id: "big::answer", payload: {} }).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(ClientFailure);
    expect((failure as ClientFailure).error).toMatchObject({ code: "payload_too_large" });
    expect(upgradesOf(wire)).toBe(1);
  });
});

describe.each(publishedClients)("an engine that is restarted under $name", (client: PublishedClient) => {
  it.each(["SIGTERM", "SIGKILL"] as const)("after %s the client comes back with everything it had", async (signal) => {
    const own = await startTestEngine();
    try {
      // No tap in between: the Python client gives up for good when an upgrade fails, and tries on only while nobody listens.
      const worker = await connected(client, own.address, { workerName: "survivor" });
      await worker.run("registerTriggerType", { id: "restart-type", description: "d" });
      await offerEcho(worker, "restart::a");
      await worker.run("registerFunction", { id: "restart::hold", behaviour: { kind: "hold", value: 1 } });
      await worker.run("registerTrigger", { type: "http", function_id: "restart::a", config: { api_path: "restart", http_method: "POST" } });
      await worker.run("registerTrigger", { type: "restart-type", function_id: "restart::a", config: { n: 1 } });
      await worker.next(({ event }) => event === "bound", "the binding");
      await own.kill(signal);
      await own.start();
      await worker.next(({ event }) => event === "bound", "the binding, again");

      const caller = await raw(own.address);
      await expect.poll(async () => (await caller.call("restart::a", { data: { b: 2 } })).result, { timeout: 30_000 }).toEqual({ b: 2 });
      await expect.poll(() => own.workers(), { timeout: 30_000 }).toContain("survivor");
      const response = await fetch(`${own.http}/restart`, { method: "POST", headers: { "content-type": "application/json" }, body: '{"a":1}' });
      expect(response.status).toBe(200);
      expect(await worker.run("trigger", { function_id: "restart::a", payload: { c: 3 } })).toEqual({ c: 3 });
      expect(own.logged("error")).toEqual([]);
    } finally {
      await own.stop();
    }
  });
});
