import { describe, expect, it } from "vitest";
import { inMemoryEngine } from "../../testing/index.ts";
import type { StreamEvent } from "../stream-contract.ts";
import { memoryStreams } from "./testing/memory-streams.ts";

const event = (id: string | null, json: string, more: Partial<StreamEvent> = {}): StreamEvent => ({
  stream: "todos",
  group: "g",
  id,
  type: "update",
  json,
  version: undefined,
  ...more,
});

describe("the published protocol", () => {
  it("answers a join with what there is, then sends events, and no more after a leave", async () => {
    const engine = await inMemoryEngine();
    const streams = memoryStreams(engine.kernel.streams);
    streams.write("todos", "g", "a", "1");
    const socket = engine.openSocket("/");
    socket.say({ type: "join", data: { subscriptionId: "s", streamName: "todos", groupId: "g" } });
    expect(await socket.next()).toEqual({
      type: "stream",
      timestamp: expect.any(Number),
      streamName: "todos",
      groupId: "g",
      id: null,
      event: { type: "sync", data: [1] },
    });
    streams.write("todos", "g", "a", "12345678901234567890");
    streams.publish(event(null, '{"type":"typing","data":{"who":"x"}}', { type: "event" }));
    streams.publish(event("a", "0", { group: "other" }));
    expect(socket.received.splice(0).map((text) => text.replace(/"timestamp":\d+/, '"timestamp":0'))).toEqual([
      '{"type":"stream","timestamp":0,"streamName":"todos","groupId":"g","id":"a","event":{"type":"update","data":12345678901234567890}}',
      '{"type":"stream","timestamp":0,"streamName":"todos","groupId":"g","id":null,"event":{"type":"event","event":{"type":"typing","data":{"who":"x"}}}}',
    ]);
    socket.say({ type: "leave", data: { subscriptionId: "s", streamName: "todos", groupId: "g" } });
    streams.write("todos", "g", "a", "3");
    expect(socket.take()).toEqual([]);
    expect(streams.left).toEqual(["s"]);
  });
});
