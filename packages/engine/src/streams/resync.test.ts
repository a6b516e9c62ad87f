import { CallError } from "@svc-runtime/protocol";
import { describe, expect, it } from "vitest";
import type { StreamSnapshot } from "../kernel/stream-contract.ts";
import { inMemoryEngine, manualClock, type StreamSocket } from "../testing/index.ts";
import { memoryStreams } from "./testing/memory-streams.ts";

const turns = async (): Promise<void> => {
  for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve));
};

/** A group whose only value is `value`; `fail` makes reads of it fail. */
async function scene() {
  const clock = manualClock();
  const engine = await inMemoryEngine({ clock });
  const group = { value: 1, fail: undefined as string | undefined, reads: 0, during: () => {} };
  const streams = memoryStreams(engine.kernel.streams, {
    async snapshot(): Promise<StreamSnapshot> {
      group.reads++;
      if (group.fail !== undefined) throw new CallError(group.fail as "storage_failed", "a test");
      const { value } = group;
      group.during();
      return { json: `[${value}]`, versionOf: () => undefined };
    },
  });
  const join = async (hello: boolean, since?: object): Promise<StreamSocket> => {
    const socket = engine.openSocket("/");
    if (hello) socket.say({ type: "hello", data: { version: 1 } });
    socket.say({ type: "join", data: { subscriptionId: "s", streamName: "todos", groupId: "g", since } });
    await turns();
    return socket;
  };
  const joined = async (hello: boolean): Promise<StreamSocket> => {
    const socket = await join(hello);
    socket.take();
    return socket;
  };
  const pass = async (ms: number): Promise<void> => {
    clock.advance(ms);
    await turns();
  };
  const send = (data: number): number =>
    streams.publish({
      stream: "todos",
      group: "g",
      id: null,
      type: "event",
      json: `{"type":"cheer","data":${data}}`,
      version: undefined,
    });
  const unclear = (): void => streams.resync("todos", "g");
  return { engine, clock, group, streams, join, joined, pass, send, unclear };
}

const gap = (since: number, seq: number) => ({
  type: "gap",
  data: { subscriptionId: "s", streamName: "todos", groupId: "g", since, seq, reason: "unclear" },
});
const sync = (value: number) => ({ type: "sync", data: [value] });

describe("a resync of a group", () => {
  it("sends who has joined a gap notice and what there is, plain clients only the latter, and goes on behind it (R-2)", async () => {
    const { group, joined, pass, send, unclear } = await scene();
    const [extended, plain] = [await joined(true), await joined(false)];
    send(1);
    group.value = 2;
    unclear();
    await pass(0);
    send(2);
    const cheer = (data: number) => ({ type: "event", event: { type: "cheer", data } });
    expect(extended.take()).toMatchObject([
      { seq: 1 },
      gap(1, 2),
      { seq: 2, event: sync(2) },
      { seq: 3, event: cheer(2) },
    ]);
    expect(plain.take()).toMatchObject([{ event: cheer(1) }, { event: sync(2) }, { event: cheer(2) }]);
  });

  it("lets nobody resume from before it, also when nobody had joined (R-3)", async () => {
    const { group, join, pass, send, unclear } = await scene();
    const first = await join(true);
    const { epoch } = (await first.next(({ type }) => type === "welcome")).data as { epoch: string };
    send(1);
    first.close();
    group.value = 2;
    unclear();
    await pass(0);
    expect(group.reads).toBe(1);
    const again = await join(true, { epoch, seq: 1 });
    expect(again.take().slice(1)).toMatchObject([
      { data: { resumed: false, seq: 2 } },
      { type: "gap", data: { since: 1, reason: "expired" } },
      { event: sync(2) },
    ]);
    again.close();
    const resumed = await join(true, { epoch, seq: 2 });
    expect(resumed.take().slice(1)).toMatchObject([{ data: { resumed: true } }]);
  });

  it("comes once a second at most, and for the last unclear write too", async () => {
    const { group, joined, pass, unclear } = await scene();
    const socket = await joined(true);
    for (let write = 0; write < 5; write++) unclear();
    await pass(0);
    expect(socket.take()).toMatchObject([gap(0, 5), { event: sync(1) }]);
    group.value = 2;
    for (let write = 0; write < 5; write++) unclear();
    await pass(999);
    expect(socket.take()).toEqual([]);
    await pass(1);
    expect(socket.take()).toMatchObject([gap(5, 10), { event: sync(2) }]);
    const { reads } = group;
    await pass(60_000);
    expect(group.reads).toBe(reads);
  });

  it("waits with back-off until the group can be read, one read at a time for all; plain clients then get what was sent meanwhile", async () => {
    const { engine, group, joined, pass, send, unclear } = await scene();
    const sockets = [await joined(true), await joined(false), await joined(false)];
    group.fail = "storage_failed";
    group.reads = 0;
    unclear();
    await pass(0);
    for (const ms of [1_000, 2_000, 4_000, 8_000, 16_000, 30_000]) await pass(ms);
    expect(group.reads).toBe(7);
    expect(send(1)).toBe(2);
    expect(sockets.flatMap((socket) => socket.take()).filter(({ type }) => type !== "heartbeat")).toEqual([]);
    expect(sockets.map(({ ended }) => ended)).toEqual([undefined, undefined, undefined]);
    group.fail = undefined;
    await pass(30_000);
    const [extended, plain] = sockets.map((socket) => socket.take().filter(({ type }) => type !== "heartbeat"));
    expect(extended).toMatchObject([gap(0, 2), { event: sync(1) }]);
    expect(plain).toMatchObject([{ event: sync(1) }, { event: { type: "event" } }]);
    expect(engine.logs.filter(({ message }) => message.includes("unclear write"))).toHaveLength(1);
  });

  it("ends subscriptions of a group that cannot be read for good", async () => {
    const { group, joined, pass, unclear } = await scene();
    const [extended, plain] = [await joined(true), await joined(false)];
    group.fail = "payload_too_large";
    unclear();
    await pass(0);
    expect(extended.take()).toMatchObject([
      { type: "error", data: { code: "payload_too_large", subscriptionId: "s" } },
    ]);
    expect(plain.ended).toMatchObject({ code: 1011 });
  });

  it("is made again for who was reading when it came, and ends though unclear writes do not (R-2)", async () => {
    const { group, join, pass, unclear } = await scene();
    group.during = () => {
      group.value++;
      unclear();
    };
    const socket = await join(true);
    expect(socket.take().slice(1)).toMatchObject([
      { type: "joined", data: { seq: 0 } },
      { seq: 0, event: sync(1) },
    ]);
    await pass(0);
    expect(socket.take()).toMatchObject([{ type: "gap", data: { since: 0, reason: "unclear" } }, { event: sync(3) }]);
    group.during = () => {};
    await pass(1_000);
    expect(socket.take()).toMatchObject([{ type: "gap" }, { event: sync(4) }]);
  });

  it("costs nothing any more when all have gone", async () => {
    const { clock, group, joined, pass, unclear } = await scene();
    const socket = await joined(false);
    group.fail = "call_timeout";
    unclear();
    await pass(0);
    socket.close();
    group.reads = 0;
    await pass(60_000);
    expect([group.reads, clock.pendingTimers]).toEqual([0, 0]);
  });
});
