import type { TapTotals } from "@svc-runtime/protocol/listings";
import { describe, expect, it } from "vitest";
import { inMemoryEngine, manualClock } from "../testing/index.ts";
import { memoryStreams } from "./testing/memory-streams.ts";

interface Batch {
  readonly dropped: number;
  readonly totals?: TapTotals;
  readonly messages: Readonly<Record<string, unknown>>[];
}

async function scene() {
  const clock = manualClock();
  const engine = await inMemoryEngine({ clock });
  const streams = memoryStreams(engine.kernel.streams);
  const watcher = engine.openSocket("/");
  const client = engine.openSocket("/");
  const watch = (): void =>
    watcher.say({ type: "join", data: { subscriptionId: "w", streamName: "svc.stream.messages", groupId: "all" } });
  const batches = (): Batch[] => {
    clock.advance(100);
    return watcher.take().map(({ event }) => (event as { event: { data: Batch } }).event.data);
  };
  return { clock, streams, watcher, client, watch, batches };
}

describe("svc.stream.messages", () => {
  it("shows every message of every stream connection, both ways, in batches, but nothing about itself", async () => {
    const { streams, watcher, client, watch, batches } = await scene();
    client.send("before anyone watches");
    watch();
    const nothing = { inbound: 0, outbound: 0, inbound_bytes: 0, outbound_bytes: 0, dropped: 0 };
    expect(watcher.take()).toMatchObject([{ event: { type: "sync", data: [{ id: "totals", ...nothing }] } }]);
    const join = '{"type":"join","data":{"subscriptionId":"s","streamName":"todos","groupId":"g"}}';
    client.send(join);
    await client.next();
    streams.write("todos", "g", "a", '"ü"');
    client.send("{oops");
    client.say({ type: "leave", data: { subscriptionId: "s" } });
    expect(batches()).toEqual([
      {
        dropped: 0,
        totals: {
          inbound: 3,
          outbound: 2,
          inbound_bytes: expect.any(Number),
          outbound_bytes: expect.any(Number),
          dropped: 0,
        },
        messages: [
          {
            direction: "inbound",
            timestamp: expect.any(Number),
            connection_id: expect.any(String),
            stream: "todos",
            group: "g",
            type: "join",
            bytes: join.length,
            payload: join,
            truncated: false,
          },
          expect.objectContaining({ direction: "outbound", stream: "todos", type: "sync" }),
          expect.objectContaining({
            direction: "outbound",
            stream: "todos",
            group: "g",
            type: "create",
            payload: expect.stringContaining('"ü"'),
          }),
          expect.objectContaining({
            direction: "inbound",
            stream: null,
            group: null,
            type: "malformed",
            payload: "{oops",
          }),
          expect.objectContaining({ direction: "inbound", stream: "todos", type: "leave" }),
        ],
      },
    ]);
    expect(batches()).toEqual([]);
    watcher.say({ type: "leave", data: { subscriptionId: "w" } });
    client.send("nobody watches");
    watch();
    watcher.take();
    expect(batches()).toEqual([]);
  });

  it("cuts long messages in whole characters", async () => {
    const { streams, watcher, client, watch, batches } = await scene();
    client.say({ type: "join", data: { subscriptionId: "s", streamName: "todos", groupId: "g" } });
    await client.next();
    watch();
    watcher.take();
    for (const text of ["é".repeat(20_000), "x".repeat(5_000)]) streams.write("todos", "g", "a", JSON.stringify(text));
    const [batch] = batches();
    const [long, shorter] = batch?.messages ?? [];
    expect(long).toMatchObject({ truncated: true, payload: expect.not.stringContaining("\uFFFD") });
    expect(long?.bytes).toBeGreaterThan(40_000);
    expect(Buffer.byteLength(String(long?.payload))).toBeLessThanOrEqual(4_096);
    expect(Buffer.byteLength(String(long?.payload))).toBeGreaterThan(4_090);
    expect(shorter).toMatchObject({ truncated: true });
    expect(batch?.totals?.outbound_bytes).toBe(Number(long?.bytes) + Number(shorter?.bytes));
  });

  it("counts every message of a flood, whatever it has room to show, and shows in the long run 5,000 a second", async () => {
    const { streams, watcher, client, watch, batches } = await scene();
    client.say({ type: "join", data: { subscriptionId: "s", streamName: "todos", groupId: "g" } });
    await client.next();
    watch();
    watcher.take();
    let [sent, received] = [0, 0];
    const flood = (count: number, json: string): readonly Batch[] => {
      for (let written = 0; written < count; written++) streams.write("todos", "g", "a", json);
      client.say({ type: "heartbeat" });
      client.take();
      sent += count;
      received++;
      return batches();
    };
    const shownOf = (told: readonly Batch[]): number => told.reduce((sum, { messages }) => sum + messages.length, 0);
    // At once: all 2,000 of a second, in batches that are sent together.
    const first = flood(2_000, "1");
    expect(first.map(({ messages }) => messages.length)).toEqual([500, 500, 500, 500, 1]);
    expect(first.map(({ totals }) => totals !== undefined)).toEqual([false, false, false, false, true]);
    expect(first.at(-1)?.totals).toMatchObject({ inbound: 1, dropped: 0 });
    let shown = shownOf(first);
    for (let tick = 0; tick < 20; tick++) {
      const told = flood(2_000, "1");
      shown += shownOf(told);
      const { totals, dropped } = told.at(-1) as Batch;
      expect(totals).toMatchObject({ inbound: received, outbound: sent, dropped: sent + received - shown });
      expect(dropped).toBe(2_001 - shownOf(told));
    }
    expect(shown).toBe(2_500 + 20 * 500);
    const large = flood(500, JSON.stringify("y".repeat(5_000)));
    expect(shownOf(large)).toBeLessThan(200);
    expect(large.at(-1)?.totals).toMatchObject({ inbound: received, outbound: sent });
  });

  it("tells who comes later from where to count, and goes on counting for who lost a batch", async () => {
    const { streams, watcher, client, watch, batches } = await scene();
    client.say({ type: "join", data: { subscriptionId: "s", streamName: "todos", groupId: "g" } });
    await client.next();
    watch();
    watcher.take();
    streams.write("todos", "g", "a", "1");
    const [batch] = batches();
    streams.write("todos", "g", "a", "2");
    watcher.say({ type: "leave", data: { subscriptionId: "w" } });
    streams.write("todos", "g", "a", '"nobody counts this"');
    batches();
    watch();
    const [sync] = watcher.take();
    const [told] = (sync as { event: { data: TapTotals[] } }).event.data;
    expect(batch?.totals?.outbound).toBe(1);
    expect(told?.outbound).toBe(2);
  });
});
