import { describe, expect, it } from "vitest";
import type { StreamSource } from "../kernel/stream-contract.ts";
import { inMemoryEngine, manualClock } from "../testing/index.ts";
import { memoryStreams } from "./testing/memory-streams.ts";

async function scene(source: Partial<StreamSource> = {}) {
  const clock = manualClock();
  const engine = await inMemoryEngine({ clock });
  const streams = memoryStreams(engine.kernel.streams, source);
  const socket = engine.openSocket("/");
  const join = (subscriptionId: string): void =>
    socket.say({ type: "join", data: { subscriptionId, streamName: "todos", groupId: "g" } });
  return { clock, engine, streams, socket, join };
}

const turns = async (count: number): Promise<void> => {
  for (let turn = 0; turn < count; turn++) await new Promise((resolve) => setImmediate(resolve));
};

describe("one client of streams", () => {
  it("has 100 subscriptions at most; a further join is refused, and takes no other's place (1.4)", async () => {
    const { streams, socket, join } = await scene();
    socket.say({ type: "hello", data: { version: 1 } });
    for (let joined = 0; joined < 100; joined++) join(`s${joined}`);
    await socket.next(({ type, subscriptionIds }) => type === "stream" && (subscriptionIds as string[])[0] === "s99");
    socket.take();
    join("one more");
    expect(socket.take()).toMatchObject([{ type: "error", data: { code: "overloaded", subscriptionId: "one more" } }]);
    join("s5");
    await socket.next(({ type }) => type === "joined");
    streams.write("todos", "g", "a", "1");
    const event = await socket.next(({ event }) => (event as { type?: string } | undefined)?.type === "create");
    expect(event.subscriptionIds).toHaveLength(100);
  });

  it("that floods with joins is told so and closed with 1008, and the source is asked about 100 at once (1.4)", async () => {
    let asking = 0;
    let most = 0;
    const { streams, socket, join } = await scene({
      admit: () => {
        most = Math.max(most, ++asking);
        return new Promise(() => {});
      },
    });
    socket.say({ type: "hello", data: { version: 1 } });
    // Each join replaces the previous one, so that the limit of subscriptions does not apply.
    for (let joined = 0; joined < 2_000 && socket.ended === undefined; joined++) join("same");
    await turns(2);
    expect(socket.ended).toMatchObject({ code: 1008 });
    const said = socket.take();
    expect(said.filter(({ data }) => (data as { code?: string }).code === "overloaded")).toHaveLength(999 - 100);
    expect(said.at(-1)).toMatchObject({ type: "error", data: { code: "rate_limited" } });
    expect(most).toBe(100);
    expect(streams.left).toEqual([]);
  });

  it("may go on at 100 messages per second", async () => {
    const { clock, socket } = await scene();
    socket.say({ type: "hello", data: { version: 1 } });
    for (let second = 0; second < 20; second++) {
      for (let said = 0; said < 100; said++) socket.say({ type: "ping" });
      clock.advance(1_000);
    }
    expect(socket.ended).toBeUndefined();
    for (let said = 0; said < 1_001; said++) socket.send("nonsense");
    expect(socket.ended).toMatchObject({ code: 1008 });
  });

  it("whose join is never decided is refused after 30 s, and forgotten", async () => {
    const { clock, socket, join } = await scene({ admit: () => new Promise(() => {}) });
    join("s");
    await turns(1);
    clock.advance(30_000);
    expect(await socket.next()).toMatchObject({ event: { type: "unauthorized" } });
  });

  it("costs others nothing when it fails the source", async () => {
    const { engine, streams, socket, join } = await scene({
      left: () => {
        throw new Error("boom");
      },
    });
    const other = engine.openSocket("/");
    other.say({ type: "join", data: { subscriptionId: "s", streamName: "todos", groupId: "g" } });
    await other.next();
    join("s");
    await socket.next();
    socket.close();
    streams.write("todos", "g", "a", "1");
    expect(other.take()).toHaveLength(1);
    expect(engine.logs.filter(({ level }) => level === "error")).toHaveLength(1);
  });
});
