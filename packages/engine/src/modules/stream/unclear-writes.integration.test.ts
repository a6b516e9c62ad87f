import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import {
  type InMemoryEngine,
  inMemoryEngine,
  type ManualClock,
  manualClock,
  type StreamSocket,
} from "../../testing/index.ts";
import { stream } from "./index.ts";

let dataDir: string;
let clock: ManualClock;
let engine: InMemoryEngine;

const item = { stream_name: "s", group_id: "g", item_id: "1" };

beforeEach(async () => {
  dataDir = mkdtempSync(join(tmpdir(), "svc-stream-unclear-"));
  clock = manualClock();
  engine = await inMemoryEngine({
    modules: [stream],
    config: { "svc-stream": { memory_streams: ["m"] } },
    clock,
    dataDir,
  });
});
afterEach(async () => {
  await engine.stop();
  rmSync(dataDir, { recursive: true, force: true });
});

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** Makes a write that times out while the store's thread is running it. */
async function unclear(functionId: string, input: object): Promise<void> {
  // Wait until the store is idle, so that the write is sent at once.
  await engine.call("stream::list_all");
  const write = engine.call(functionId, input, { timeoutMs: 600_000 });
  const refused = expect(write).rejects.toMatchObject({ code: "call_timeout", details: { outcome: "unknown" } });
  // After these turns the store has the request and sends it at the end of this turn. No message arrives before the next
  // turn, so the timeout comes before the answer.
  for (let hops = 0; hops < 200; hops++) await Promise.resolve();
  await new Promise<void>((resolve) => process.nextTick(resolve));
  clock.advance(30_000);
  await refused;
}

async function joined(hello: boolean): Promise<StreamSocket> {
  const socket = engine.openSocket("/");
  if (hello) socket.say({ type: "hello", data: { version: 1 } });
  socket.say({ type: "join", data: { subscriptionId: "x", streamName: "s", groupId: "g" } });
  await socket.next(isSync);
  socket.take();
  return socket;
}

const isSync = ({ event }: Record<string, unknown>): boolean =>
  (event as { type?: string } | undefined)?.type === "sync";

describe("a write of a stream whose outcome is unclear", () => {
  it.each([
    ["stream::set", { ...item, data: 2 }, [2]],
    ["stream::update", { ...item, ops: [{ type: "increment", path: "", by: 4 }] }, [5]],
    ["stream::delete", item, []],
  ])("is followed by what there is: %s (R-2)", async (functionId, input, data) => {
    await engine.call("stream::set", { ...item, data: 1 });
    const [extended, plain] = [await joined(true), await joined(false)];
    await unclear(functionId, input);
    clock.advance(0);
    // The snapshot contains the write. Its own event, published when the store reports it, took the number 3.
    expect(await extended.next(isSync)).toMatchObject({ seq: 3, event: { data } });
    expect(extended.take().filter(({ type }) => type !== "heartbeat")).toMatchObject([
      { type: "gap", data: { since: 1, seq: 3, reason: "unclear" } },
    ]);
    expect(await plain.next(isSync)).toMatchObject({ event: { data } });
    const { seq } = (await engine.call("stream::set", { ...item, data: 9 })) as { seq: number };
    expect(seq).toBe(4);
    expect([extended.take(), plain.take()]).toMatchObject([[{ seq: 4 }], [{ event: { data: 9 } }]]);
  });

  it("publishes the item's expiry when it happens (R-2)", async () => {
    const socket = await joined(true);
    await unclear("stream::set", { ...item, data: 1, expires_in_ms: 60_000 });
    clock.advance(0);
    await socket.next(isSync);
    clock.advance(30_000);
    expect(await socket.next(({ event }) => (event as { type?: string } | undefined)?.type === "delete")).toMatchObject(
      { event: { data: 1 } },
    );
  });

  it("is one that may be stored: refused ones bring no resync", async () => {
    const extended = await joined(true);
    await engine.call("stream::set", { ...item, data: 1 });
    extended.take();
    await expect(engine.call("stream::set", { ...item, data: 2, if_version: 7 })).rejects.toMatchObject({
      code: "state_conflict",
    });
    await expect(engine.call("stream::set", { ...item, data: "x".repeat(20_000_000) })).rejects.toMatchObject({
      code: "payload_too_large",
    });
    clock.advance(0);
    for (let turns = 0; turns < 20; turns++) await turn();
    expect(extended.take()).toEqual([]);
    expect(await engine.call("stream::set", { ...item, data: 3 })).toMatchObject({ seq: 2 });
  });
});
