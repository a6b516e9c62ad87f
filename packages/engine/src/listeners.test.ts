import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { WebSocket } from "ws";
import { loadConfig } from "./config/index.ts";
import { systemClock } from "./kernel/clock.ts";
import { silentLogger } from "./kernel/logger.ts";
import type { StreamClient } from "./kernel/stream-contract.ts";
import { Listeners } from "./listeners.ts";
import { memoryStreams } from "./streams/testing/memory-streams.ts";
import { inMemoryEngine, manualClock } from "./testing/index.ts";
import { EngineProof } from "./transport/engine-proof.ts";

const TOKEN = "a-token-of-the-engine";
const undo: (() => unknown)[] = [];
afterEach(async () => {
  for (const step of undo.splice(0).reverse()) await step();
});

async function scene() {
  const dir = mkdtempSync(join(tmpdir(), "svc-listeners-"));
  undo.push(() => rmSync(dir, { recursive: true, force: true }));
  const file = join(dir, "config.yaml");
  writeFileSync(file, "engine:\n  mode: production\n");
  const config = loadConfig(file, { env: {}, overrides: { bridgePort: 0, httpPort: 0, realtimePort: 0 }, modules: [] });
  const clock = manualClock();
  const { kernel } = await inMemoryEngine({ clock });
  const listeners = new Listeners({
    kernel,
    token: TOKEN,
    proof: new EngineProof("key"),
    clock: systemClock,
    log: silentLogger,
    config: () => config,
  });
  await listeners.bind(config);
  undo.push(() => listeners.close());
  /** Returns the response to an upgrade. */
  const upgrade = (headers: Record<string, string> = {}): Promise<WebSocket | number | undefined> => {
    const socket = new WebSocket(`${listeners.addresses.realtime}/`, { headers });
    undo.push(() => socket.terminate());
    return new Promise((resolve) => {
      socket.once("open", () => resolve(socket));
      socket.once("unexpected-response", (_request, response) => resolve(response.statusCode));
      socket.on("error", () => {});
    });
  };
  return { clock, kernel, listeners, upgrade };
}

const bearer = (token: string): Record<string, string> => ({ authorization: `Bearer ${token}` });

describe("the listener of workers", () => {
  const connect = (listeners: Listeners): WebSocket => {
    const socket = new WebSocket(`${listeners.addresses.bridge}/`, { headers: bearer(TOKEN) });
    socket.on("error", () => {});
    undo.push(() => socket.terminate());
    return socket;
  };

  it("has workers wait until every module runs, so that none finds a function of a module missing", async () => {
    const { listeners, upgrade } = await scene();
    const early = connect(listeners);
    let isOpen = false;
    early.once("open", () => {
      isOpen = true;
    });
    // The streams listener has responded; by now the workers' listener would have, since it was asked first.
    expect(await upgrade(bearer(TOKEN))).toBe(503);
    expect(await upgrade(bearer(TOKEN))).toBe(503);
    expect(isOpen).toBe(false);
    listeners.startServing();
    const [greeting] = (await once(early, "message")) as [Buffer];
    expect(JSON.parse(greeting.toString())).toMatchObject({ type: "workerregistered" });
    expect(await once(connect(listeners), "message")).toHaveLength(2);
  });

  it("cuts those who wait when the engine does not come up", async () => {
    const { listeners, upgrade } = await scene();
    const early = connect(listeners);
    expect(await upgrade(bearer(TOKEN))).toBe(503);
    const closed = new Promise((resolve) => early.once("close", resolve));
    listeners.close();
    await closed;
  });
});

describe("the listener of streams", () => {
  it("lets clients in while every module runs, and before and after asks them to come again", async () => {
    const { listeners, upgrade } = await scene();
    expect(await upgrade(bearer(TOKEN))).toBe(503);
    listeners.startServing();
    expect(await upgrade(bearer(TOKEN))).toBeInstanceOf(WebSocket);
    listeners.startDraining();
    expect(await upgrade(bearer(TOKEN))).toBe(503);
  });

  it("wants the engine's token where one is needed, until the keeper of the streams decides who may connect (gap 42)", async () => {
    const { clock, kernel, listeners, upgrade } = await scene();
    listeners.startServing();
    expect(await upgrade()).toBe(401);
    expect(await upgrade(bearer("theirs"))).toBe(401);
    const asked: StreamClient[] = [];
    const streams = memoryStreams(kernel.streams, {
      authenticate(client) {
        asked.push(client);
        return Promise.resolve(
          client.headers.authorization === "Bearer theirs"
            ? { ok: true, context: null, systemStreams: false }
            : { ok: false, code: 4403, reason: "not you" },
        );
      },
    });
    expect(await upgrade(bearer("theirs"))).toBeInstanceOf(WebSocket);
    const [closed] = (await once((await upgrade()) as WebSocket, "close")) as [number];
    expect(closed).toBe(4403);
    expect(asked).toMatchObject([
      { trusted: false, path: "/", address: expect.stringMatching(/^(127\.0\.0\.1|::1):\d+$/) },
      { trusted: false },
    ]);
    expect(await upgrade(bearer(TOKEN))).toBeInstanceOf(WebSocket);
    expect(asked).toHaveLength(2);
    streams.stop();
    // It may be restarting: no other rule may admit clients meanwhile.
    const [away] = (await once((await upgrade(bearer("theirs"))) as WebSocket, "close")) as [number];
    expect(away).toBe(1012);
    clock.advance(10_000);
    expect(await upgrade(bearer("theirs"))).toBe(401);
  });
});
