import { describe, expect, it } from "vitest";
import { inMemoryEngine, manualClock } from "../testing/index.ts";
import { memoryStreams } from "./testing/memory-streams.ts";

const KIB = 1024;
const TEXT = JSON.stringify("x".repeat(100 * KIB));

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

async function scene() {
  const clock = manualClock();
  const engine = await inMemoryEngine({ clock });
  const streams = memoryStreams(engine.kernel.streams);
  const open = async (hello: boolean, groupId = "g") => {
    const socket = engine.openSocket("/");
    if (hello) socket.say({ type: "hello", data: { version: 1 } });
    socket.say({ type: "join", data: { subscriptionId: "s", streamName: "todos", groupId } });
    await socket.next(({ event }) => (event as { type?: string } | undefined)?.type === "sync");
    socket.take();
    return socket;
  };
  const write = (times: number, json = TEXT): void => {
    for (let time = 0; time < times; time++) streams.write("todos", "g", `item ${time}`, json);
  };
  return { clock, engine, streams, open, write };
}

describe("a client that does not keep up", () => {
  it("gets no more events, and once it takes some, a gap notice and what there is; others miss nothing (gap 40) (R-4)", async () => {
    const { streams, open, write } = await scene();
    const slow = await open(true);
    const others = [await open(true), await open(false)];
    slow.stall();
    write(30);
    for (const other of others) expect(other.take()).toHaveLength(30);
    expect(slow.ended).toBeUndefined();

    slow.unstall();
    const sync = await slow.next(({ event }) => (event as { type?: string } | undefined)?.type === "sync");
    expect(sync).toMatchObject({ seq: 30, event: { data: { length: 30 } } });
    const [gap, ...events] = slow.take().reverse();
    const before = events.length;
    expect(before).toBeGreaterThan(9);
    expect(before).toBeLessThan(13);
    expect(gap).toEqual({
      type: "gap",
      data: { subscriptionId: "s", streamName: "todos", groupId: "g", since: before, seq: 30, reason: "overflow" },
    });
    streams.write("todos", "g", "next", "1");
    expect(slow.take()).toMatchObject([{ seq: 31 }]);
  });

  it("is closed with 4008 when it speaks the published protocol, and leaves once (gap 40) (R-4)", async () => {
    const { streams, open, write } = await scene();
    const slow = await open(false);
    const other = await open(false);
    slow.stall();
    write(30);
    expect(slow.ended).toMatchObject({ code: 4008 });
    expect(streams.left).toEqual(["s"]);
    expect(other.take()).toHaveLength(30);
  });

  it("is closed when it takes nothing for 30 s, but not while it takes something", async () => {
    const { clock, open, write } = await scene();
    const slow = await open(true);
    slow.stall();
    write(30);
    await turn();
    for (let halfMinute = 0; halfMinute < 3; halfMinute++) {
      slow.trickle();
      clock.advance(30_000);
      expect(slow.ended).toBeUndefined();
    }
    clock.advance(30_000);
    expect(slow.ended).toMatchObject({ code: 4008 });
  });

  it("may be behind with a snapshot that is larger than the bound, and is sent one at a time", async () => {
    const { engine, streams, open, write } = await scene();
    write(40);
    const socket = await open(false, "small");
    socket.stall();
    for (const name of ["a", "b", "c"])
      socket.say({ type: "join", data: { subscriptionId: name, streamName: "todos", groupId: "g" } });
    for (let turns = 0; turns < 10; turns++) await turn();
    const held = socket.queuedBytes;
    expect(held).toBeGreaterThan(4_000 * KIB);
    expect(held).toBeLessThan(5_000 * KIB);
    // The snapshot in the buffer does not close the connection; further events do.
    write(5);
    expect(socket.ended).toBeUndefined();
    write(10);
    expect(socket.ended).toMatchObject({ code: 4008 });
    expect([...streams.left].sort()).toEqual(["a", "b", "c", "s"]);
    expect(engine.logs.filter(({ level }) => level === "error")).toEqual([]);
  });

  it("is closed when it goes on asking without taking the answers", async () => {
    const { clock, open, write } = await scene();
    const slow = await open(true);
    slow.stall();
    write(30);
    let asked = 0;
    for (; slow.ended === undefined && asked < 2_000; asked++) {
      slow.say({ type: "ping" });
      clock.advance(20);
    }
    expect(slow.ended).toMatchObject({ code: 4008 });
    expect(asked).toBeGreaterThan(999);
  });
});
