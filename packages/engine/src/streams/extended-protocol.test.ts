import { describe, expect, it } from "vitest";
import type { StreamSource } from "../kernel/stream-contract.ts";
import { inMemoryEngine, manualClock } from "../testing/index.ts";
import { memoryStreams } from "./testing/memory-streams.ts";

const GROUP = { streamName: "todos", groupId: "g" };

async function scene(source: Partial<StreamSource> = {}) {
  const clock = manualClock();
  const engine = await inMemoryEngine({ clock });
  const streams = memoryStreams(engine.kernel.streams, source);
  /** A client that has sent hello and received welcome. */
  const connect = async () => {
    const socket = engine.openSocket("/");
    socket.say({ type: "hello", data: { version: 1 } });
    const welcome = await socket.next();
    const epoch = (welcome.data as { epoch: string }).epoch;
    const join = (subscriptionId: string, more: object = {}): void =>
      socket.say({ type: "join", data: { subscriptionId, ...GROUP, ...more } });
    return { socket, welcome, epoch, join };
  };
  return { clock, engine, streams, connect };
}

describe("the extended protocol", () => {
  it("welcomes who says hello, confirms joins and leaves, and numbers what it sends (gap 43)", async () => {
    const { streams, connect } = await scene();
    streams.write("todos", "g", "a", "1");
    const { socket, welcome, join } = await connect();
    expect(welcome).toEqual({
      type: "welcome",
      data: { connectionId: expect.any(String), epoch: expect.any(String), heartbeatMs: 10_000 },
    });
    join("s");
    expect(await socket.next()).toEqual({
      type: "joined",
      data: { subscriptionId: "s", ...GROUP, id: null, seq: 1, resumed: false },
    });
    expect(await socket.next()).toEqual({
      type: "stream",
      timestamp: expect.any(Number),
      ...GROUP,
      id: null,
      event: { type: "sync", data: [1] },
      seq: 1,
      subscriptionIds: ["s"],
    });
    streams.write("todos", "g", "a", "2");
    expect(socket.take()).toEqual([
      {
        type: "stream",
        timestamp: expect.any(Number),
        ...GROUP,
        id: "a",
        event: { type: "update", data: 2 },
        seq: 2,
        version: 2,
        subscriptionIds: ["s"],
      },
    ]);
    socket.say({ type: "leave", data: { subscriptionId: "s" } });
    streams.write("todos", "g", "a", "3");
    expect(socket.take()).toEqual([{ type: "left", data: { subscriptionId: "s" } }]);
  });

  it("has one message for all subscriptions of a connection that match (gap 43)", async () => {
    const { streams, connect } = await scene();
    const { socket, join } = await connect();
    for (const [name, id] of [
      ["group", undefined],
      ['it"em', "a"],
      ["other", "b"],
    ] as const) {
      join(name, { id });
      await socket.next(({ type }) => type === "stream");
    }
    socket.take();
    streams.write("todos", "g", "a", "1");
    streams.publish({
      stream: "todos",
      group: "g",
      id: null,
      type: "event",
      json: '{"type":"x","data":"ü"}',
      version: undefined,
    });
    expect(socket.take()).toMatchObject([
      { id: "a", subscriptionIds: ["group", 'it"em'], seq: 1 },
      { id: null, subscriptionIds: ["group"], seq: 2, event: { type: "event", event: { type: "x", data: "ü" } } },
    ]);
  });

  it("answers what it cannot take with an error that names code and subscription (gap 43)", async () => {
    const { connect } = await scene({
      admit: ({ stream }) => Promise.resolve(stream === "todos" ? undefined : { refusal: "not yours" }),
    });
    const { socket } = await connect();
    for (const text of [
      "{oops",
      '{"type":"jump"}',
      '{"type":"hello","data":{"version":1}}',
      `{"type":"join","data":{"subscriptionId":"s","streamName":"${"x".repeat(300)}","groupId":"g"}}`,
    ]) {
      socket.send(text);
      expect(await socket.next()).toMatchObject({
        type: "error",
        data: { code: "invalid_message", message: expect.any(String) },
      });
    }
    for (const [streamName, groupId, code] of [
      ["secret", "g", "FORBIDDEN"],
      ["svc.nothing", "all", "NOT_FOUND"],
      ["svc.stream.messages", "none", "NOT_FOUND"],
    ] as const) {
      socket.say({ type: "join", data: { subscriptionId: "mine", streamName, groupId } });
      expect(await socket.next()).toMatchObject({ type: "error", data: { code, subscriptionId: "mine" } });
    }
  });

  it("answers a ping, and shows every 10 s where each subscription stands (gap 41)", async () => {
    const { clock, streams, connect } = await scene();
    const { socket, join } = await connect();
    join("item", { id: "a" });
    await socket.next(({ type }) => type === "stream");
    streams.write("todos", "g", "b", "1");
    socket.take();
    socket.say({ type: "ping" });
    expect(socket.take()).toEqual([{ type: "pong" }]);
    clock.advance(10_000);
    expect(socket.take()).toEqual([
      { type: "heartbeat", timestamp: clock.now(), positions: [{ subscriptionId: "item", seq: 1 }] },
    ]);
    clock.advance(30_000);
    expect(socket.take()).toHaveLength(3);
  });

  it("sends who comes back what was missed, each event as it was (gap 41) (R-3)", async () => {
    const { streams, connect } = await scene();
    const first = await connect();
    first.join("s");
    await first.socket.next(({ type }) => type === "stream");
    streams.write("todos", "g", "a", "1");
    first.socket.close();
    streams.write("todos", "g", "a", "2");
    streams.write("todos", "g", "b", "3");
    streams.remove("todos", "g", "a");

    const second = await connect();
    expect(second.epoch).toBe(first.epoch);
    second.join("s", { since: { epoch: first.epoch, seq: 1 } });
    expect(await second.socket.next()).toMatchObject({ type: "joined", data: { resumed: true, seq: 1 } });
    streams.write("todos", "g", "b", "4");
    expect(second.socket.take()).toMatchObject([
      { seq: 2, id: "a", event: { type: "update", data: 2 }, version: 2 },
      { seq: 3, id: "b", event: { type: "create", data: 3 } },
      { seq: 4, id: "a", event: { type: "delete", data: 2 }, version: 3 },
      { seq: 5, id: "b", event: { type: "update", data: 4 } },
    ]);

    const item = await connect();
    item.join("s", { id: "b", since: { epoch: first.epoch, seq: 1 } });
    await item.socket.next(({ type }) => type === "joined");
    expect(item.socket.take().map(({ seq }) => seq)).toEqual([3, 5]);
  });

  it("tells who comes back too late, or from another run, that there is a gap, and sends what there is (gap 41) (R-2)", async () => {
    const { streams, connect } = await scene();
    const { socket, epoch, join } = await connect();
    join("s");
    await socket.next(({ type }) => type === "stream");
    for (let written = 1; written <= 1_001; written++) streams.write("todos", "g", "a", String(written));
    for (const [since, reason] of [
      [{ epoch, seq: 0 }, "expired"],
      [{ epoch, seq: 5_000 }, "expired"],
      [{ epoch: "another", seq: 1_001 }, "restarted"],
    ] as const) {
      const other = await connect();
      other.join("s", { since });
      expect(await other.socket.next()).toMatchObject({ type: "joined", data: { resumed: false, seq: 1_001 } });
      expect(await other.socket.next()).toEqual({
        type: "gap",
        data: { subscriptionId: "s", ...GROUP, since: since.seq, seq: 1_001, reason },
      });
      expect(await other.socket.next()).toMatchObject({ event: { type: "sync", data: [1_001] }, seq: 1_001 });
    }
    const inTime = await connect();
    inTime.join("s", { since: { epoch, seq: 1 } });
    expect(await inTime.socket.next()).toMatchObject({ type: "joined", data: { resumed: true } });
    expect(inTime.socket.take()).toHaveLength(1_000);
  });

  it("leaves no hole, and goes back in no item, where writes meet the reading of the group (R-2)", async () => {
    let answer = (): void => {};
    const { streams, connect } = await scene({
      // Like a store that has processed both and returns the results later, in one turn.
      snapshot: () =>
        new Promise(
          (resolve) => (answer = () => resolve({ json: "[2]", versionOf: (id) => (id === "a" ? 2 : undefined) })),
        ),
    });
    const { socket, join } = await connect();
    streams.write("todos", "g", "old", "0");
    join("s");
    await new Promise((resolve) => setImmediate(resolve));
    streams.write("todos", "g", "a", "1");
    answer();
    streams.write("todos", "g", "a", "2");
    streams.write("todos", "g", "a", "3");
    streams.write("todos", "g", "b", "4");
    const joined = await socket.next();
    expect(joined).toMatchObject({ data: { seq: 3 } });
    expect(socket.take()).toMatchObject([
      { seq: 3, event: { type: "sync", data: [2] } },
      { seq: 4, event: { data: 3 } },
      { seq: 5, event: { data: 4 } },
    ]);
  });

  it("reads a group again when it changed too much meanwhile, and gives up at the fifth time", async () => {
    let reads = 0;
    let changes = 2_000;
    const { streams, connect } = await scene({
      snapshot: () => {
        reads++;
        for (let change = 0; change < changes; change++) streams.write("todos", "g", "a", "1");
        if (reads === 2) changes = 0;
        return Promise.resolve({ json: "[1]", versionOf: undefined });
      },
    });
    const { socket, join } = await connect();
    join("s");
    expect(await socket.next()).toMatchObject({ type: "joined", data: { seq: 4_000 } });
    expect(reads).toBe(3);
    changes = 2_000;
    reads = 2;
    join("t");
    expect(await socket.next(({ type }) => type === "error")).toMatchObject({
      data: { code: "overloaded", subscriptionId: "t" },
    });
    expect(reads).toBe(7);
    expect(streams.left).toEqual(["t"]);
  });

  it("ends a join with the code that reading the group failed with", async () => {
    const { streams, connect } = await scene({ snapshot: () => Promise.reject(new Error("the disk is gone")) });
    const { socket, join } = await connect();
    join("s");
    expect(await socket.next()).toMatchObject({
      type: "error",
      data: { subscriptionId: "s", message: "the disk is gone" },
    });
    expect(streams.left).toEqual(["s"]);
  });

  it("ends connections when the keeper of the streams stops, and has clients come again while it may be back", async () => {
    const { clock, engine, streams, connect } = await scene();
    const user = await connect();
    user.join("s");
    await user.socket.next(({ type }) => type === "stream");
    streams.write("todos", "g", "a", "1");
    const idle = await connect();
    streams.stop();
    // A write that was in progress when the module stopped.
    expect(streams.write("todos", "g", "a", "2")).toBe(0);
    expect(user.socket.ended).toMatchObject({ code: 1012 });
    expect(streams.left).toEqual(["s"]);
    expect(idle.socket.ended).toBeUndefined();
    idle.join("s");
    expect(idle.socket.ended).toMatchObject({ code: 1012 });

    const again = memoryStreams(engine.kernel.streams);
    const back = await connect();
    // The numbers of the former provider are not valid any more.
    back.join("s", { since: { epoch: user.epoch, seq: 1 } });
    await back.socket.next(({ type }) => type === "joined");
    expect(await back.socket.next()).toMatchObject({ type: "gap", data: { reason: "expired" } });
    again.stop();
    clock.advance(10_000);
    const late = await connect();
    late.join("s");
    expect(await late.socket.next()).toMatchObject({
      type: "error",
      data: { code: "NOT_FOUND", message: expect.stringContaining("svc worker add svc-stream") },
    });
  });

  it("does not resume a stream of the engine over a time in which nobody watched it", async () => {
    const { engine, connect } = await scene();
    const stream = engine.kernel.streams.provideSystemStream({ name: "svc.test", summary: "", snapshot: () => "[]" });
    const demand: boolean[] = [];
    stream.onDemand((wanted) => demand.push(wanted));
    const publish = (): void => stream.publish({ id: "x", type: "update", json: "1" });
    const system = { streamName: "svc.test", groupId: "all" };
    const first = await connect();
    first.join("s", system);
    publish();
    expect(first.socket.take().map(({ type, seq }) => [type, seq])).toEqual([
      ["joined", undefined],
      ["stream", 0],
      ["stream", 1],
    ]);
    const watcher = await connect();
    watcher.join("s", system);
    first.socket.close();
    publish();
    const second = await connect();
    second.join("s", { ...system, since: { epoch: first.epoch, seq: 1 } });
    expect(second.socket.take()).toMatchObject([{ type: "joined", data: { resumed: true } }, { seq: 2 }]);
    second.socket.close();
    watcher.socket.close();
    publish();
    const third = await connect();
    third.join("s", { ...system, since: { epoch: first.epoch, seq: 2 } });
    expect(third.socket.take()).toMatchObject([
      { type: "joined", data: { resumed: false } },
      { type: "gap", data: { reason: "expired" } },
      { type: "stream" },
    ]);
    expect(demand).toEqual([true, false, true]);
    stream.stop();
    expect(third.socket.take()).toMatchObject([{ type: "error", data: { code: "NOT_FOUND", subscriptionId: "s" } }]);
    expect([stream.subscribers, demand.at(-1)]).toEqual([0, false]);
    engine.kernel.streams.provideSystemStream({ name: "svc.test", summary: "", snapshot: () => "[]" });
    third.join("s", system);
    third.socket.take();
    publish();
    expect(third.socket.take()).toEqual([]);
  });
});
