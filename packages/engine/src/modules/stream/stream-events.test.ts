import { expect, it } from "vitest";
import { manualClock } from "../../testing/index.ts";
import { StreamEvents } from "./stream-events.ts";

it("an event that comes after the stop fails, and the error says that the change was stored", () => {
  const published: unknown[] = [];
  const events = new StreamEvents({
    publisher: { publish: (event) => published.push(event), resync: () => {} },
    triggers: { published: (event) => published.push(event) },
    clock: manualClock(),
  });
  events.stop();
  const change = { stream: "s", group: "g", id: "i", type: "create", json: "1", version: undefined } as const;
  expect(() => events.publish(change, { traceparent: undefined, baggage: undefined })).toThrow(
    expect.objectContaining({ code: "draining", executed: "yes" }),
  );
  expect(published).toEqual([]);
});
