import { expect } from "vitest";
import type { InMemoryEngine } from "../../../testing/index.ts";
import { watchStreams } from "./watcher.ts";

const item = { stream_name: "s", group_id: "g", item_id: "1" };

/**
 * Sets, updates and deletes one new item 300 times concurrently. Checks that every change is published once, in order.
 */
export async function expectEventsInOrder(engine: InMemoryEngine): Promise<void> {
  const seen = await watchStreams(engine, { stream_name: "s" });
  const socket = engine.openSocket("/stream/s/g");
  await socket.next();
  const writes = Array.from({ length: 300 }, (_, n) => {
    if (n % 7 === 3) return engine.call("stream::delete", item);
    if (n % 5 === 2) return engine.call("stream::update", { ...item, ops: [{ type: "set", path: "n", value: n }] });
    return engine.call("stream::set", { ...item, data: { n } });
  });
  await Promise.all(writes);
  await engine.call("stream::set", { ...item, data: "end" });
  const events = await seen.until((items) => items.at(-1)?.event.data === "end");
  const numbers = events.map((_, index) => index + 1);
  expect(events.map(({ version }) => version)).toEqual(numbers);
  expect(events.map(({ seq }) => seq)).toEqual(numbers);
  expect(socket.take().map(({ event }) => event)).toEqual(events.map(({ event }) => event));
}
