import { describe, expect, it } from "vitest";
import { inMemoryEngine, manualClock } from "../../testing/index.ts";
import { memoryStreams } from "./testing/memory-streams.ts";

interface Batch {
  readonly dropped: number;
  readonly messages: Readonly<Record<string, unknown>>[];
}

async function scene() {
  const clock = manualClock();
  const engine = await inMemoryEngine({ clock });
  const streams = memoryStreams(engine.kernel.streams);
  const watcher = engine.openSocket("/");
  const client = engine.openSocket("/");
  const watch = (): void => watcher.say({ type: "join", data: { subscriptionId: "w", streamName: "svc.stream.messages", groupId: "all" } });
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
    expect(watcher.take()).toMatchObject([{ event: { type: "sync", data: [] } }]);
    const join = '{"type":"join","data":{"subscriptionId":"s","streamName":"todos","groupId":"g"}}';
    client.send(join);
    await client.next();
    streams.write("todos", "g", "a", '"ü"');
    client.send("{oops");
    client.say({ type: "leave", data: { subscriptionId: "s" } });
    expect(batches()).toEqual([
      {
        dropped: 0,
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
          expect.objectContaining({ direction: "outbound", stream: "todos", group: "g", type: "create", payload: expect.stringContaining('"ü"') }),
          expect.objectContaining({ direction: "inbound", stream: null, group: null, type: "malformed", payload: "{oops" }),
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

  it("cuts long messages in whole characters, and counts what a batch has no room for", async () => {
    const { streams, watcher, client, watch, batches } = await scene();
    client.say({ type: "join", data: { subscriptionId: "s", streamName: "todos", groupId: "g" } });
    await client.next();
    watch();
    watcher.take();
    for (const text of ["é".repeat(20_000), "x".repeat(5_000)]) streams.write("todos", "g", "a", JSON.stringify(text));
    for (let written = 0; written < 600; written++) streams.write("todos", "g", "b", "1");
    const [batch, ...more] = batches();
    expect(more).toEqual([]);
    expect(batch?.messages).toHaveLength(500);
    expect(batch?.dropped).toBe(102);
    const [long, shorter] = batch?.messages ?? [];
    expect(long).toMatchObject({ truncated: true, payload: expect.not.stringContaining("\uFFFD") });
    expect(long?.bytes).toBeGreaterThan(40_000);
    expect(Buffer.byteLength(String(long?.payload))).toBeLessThanOrEqual(4_096);
    expect(Buffer.byteLength(String(long?.payload))).toBeGreaterThan(4_090);
    expect(shorter).toMatchObject({ truncated: true });
    for (let written = 0; written < 100; written++) streams.write("todos", "g", "a", JSON.stringify("y".repeat(5_000)));
    const [large] = batches();
    expect(large?.messages.length).toBeLessThan(70);
    expect((large?.messages.length ?? 0) + (large?.dropped ?? 0)).toBe(100);
  });
});
