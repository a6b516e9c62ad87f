import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startTestEngine, type TestEngine } from "./support/engine.ts";
import { node11, node22, type PublishedClient, publishedClients, python11 } from "./support/published-client.ts";
import { comesBack, type TappedConnection, upgradesOf, type WireTap } from "./support/wire-tap.ts";
import { offer, quiet, workshop } from "./support/workshop.ts";

// Protocol section 18, statements 26 and 27, and restarts of the svc engine: when a client reconnects.

const { client: start, connected, raw, tap } = workshop();
let engine: TestEngine;
beforeAll(async () => {
  engine = await startTestEngine();
});
afterAll(() => engine.stop());

describe.each([node11, node22])("refused connections of $name", (client) => {
  /** Milliseconds between six attempts. */
  async function gapsOfSixAttempts(wire: WireTap): Promise<number[]> {
    const worker = await start(client);
    await worker.run("connect", {
      address: wire.address,
      options: { ...quiet, reconnectionConfig: { initialDelayMs: 150, jitterFactor: 0 } },
    });
    await comesBack(wire, 6);
    const times = wire.upgrades.slice(0, 6).map(({ atMs }) => atMs);
    return times.slice(1).map((time, at) => time - (times[at] as number));
  }

  it("statement 26: are retried with growing waits if the upgrade gets 401", async () => {
    const wire = await tap(engine.address, { onUpgrade: () => ({ refuse: "401 Unauthorized" }) });
    const total = (await gapsOfSixAttempts(wire)).reduce((sum, gap) => sum + gap, 0);
    expect(total).toBeGreaterThanOrEqual(150 * (1 + 2 + 4 + 8 + 16) * 0.95);
  });

  it("statement 26: are retried at a constant interval if the socket is accepted and closed", async () => {
    const wire = await tap(undefined, { onPlay: ({ client: socket }) => socket.close(1008, "no") });
    const gaps = await gapsOfSixAttempts(wire);
    expect(gaps.reduce((sum, gap) => sum + gap, 0)).toBeGreaterThanOrEqual(150 * 5 * 0.95);
    // A busy machine may delay an attempt. Doubled waits would delay each of the last three.
    expect(Math.min(...gaps.slice(2))).toBeLessThan(150 * 4 * 0.95);
  });
});

describe("a refused connection of the Python client", () => {
  it("is its last attempt, which is why the svc engine stops listening before it disconnects its workers", async () => {
    const wire = await tap(engine.address, {
      onUpgrade: (_path, nth) => (nth === 0 ? "forward" : { refuse: "503 Service Unavailable" }),
    });
    await connected(python11, wire.address);
    (await wire.connection("/")).client.terminate();
    await comesBack(wire);
    await new Promise((resolve) => setTimeout(resolve, 1_000));
    expect(upgradesOf(wire)).toBe(2);
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
    await offer(worker, `closed::${client.program}`, { kind: "echo" });
    const { client: socket } = await wire.connection("/");
    const closed = new Promise((resolve) => socket.once("close", resolve));
    close(socket);
    await closed;
    if (client.runtime === "node" || !isClean) {
      await comesBack(wire);
      expect(await worker.run("trigger", { function_id: `closed::${client.program}`, payload: { a: 1 } })).toEqual({
        a: 1,
      });
      return;
    }
    // Its attempts start at 100 ms: within a second there would be three.
    await new Promise((resolve) => setTimeout(resolve, 1_000));
    expect(upgradesOf(wire)).toBe(1);
  });
});

describe.each(publishedClients)("an engine that is restarted under $name", (client: PublishedClient) => {
  it.each(["SIGTERM", "SIGKILL"] as const)(
    "after %s the client reconnects with all its registrations",
    async (signal) => {
      const own = await startTestEngine();
      try {
        // No tap in between: the Python client gives up when an upgrade fails, and retries only while nothing listens.
        const worker = await connected(client, own.address, { workerName: "survivor" });
        await worker.run("registerTriggerType", { id: "restart-type", description: "d" });
        await offer(worker, "restart::a", { kind: "echo" });
        await offer(worker, "restart::page", { kind: "value", value: { body: "page" } });
        await worker.run("registerTrigger", {
          type: "http",
          function_id: "restart::page",
          config: { api_path: "restart", http_method: "POST" },
        });
        await worker.run("registerTrigger", { type: "restart-type", function_id: "restart::a", config: { n: 1 } });
        await worker.next(({ event }) => event === "bound", "the binding");
        await own.kill(signal);
        await own.start();
        await worker.next(({ event }) => event === "bound", "the binding, again");

        const caller = await raw(own.address);
        await expect
          .poll(async () => (await caller.call("restart::a", { data: { b: 2 } })).result, { timeout: 30_000 })
          .toEqual({ b: 2 });
        await expect.poll(() => own.workers(), { timeout: 30_000 }).toContain("survivor");
        const response = await fetch(`${own.http}/restart`, {
          method: "POST",
          headers: { "content-type": "application/json" },
          body: '{"a":1}',
        });
        expect(response.status).toBe(200);
        expect(await response.json()).toBe("page");
        expect(await worker.run("trigger", { function_id: "restart::a", payload: { c: 3 } })).toEqual({ c: 3 });
        expect(own.logged("error")).toEqual([]);
      } finally {
        await own.stop();
      }
    },
  );
});
