import { describe, expect, it } from "vitest";
import type { NumberedEvent } from "./event-message.ts";
import { snapshotOverlap } from "./snapshot-overlap.ts";

let seq = 0;
const event = (type: NumberedEvent["type"], id: string | null, version?: number): NumberedEvent => {
  return { stream: "s", group: "g", id, type, json: "1", version, seq: ++seq, timestamp: 0, bytes: 1 };
};
const sent = (): NumberedEvent => event("event", null);
const snapshot = (versions: Record<string, number>) => ({
  json: "[]",
  versionOf: (id: string) => new Map(Object.entries(versions)).get(id),
});

describe("which events a snapshot has in it", () => {
  it("sees through what is not kept, which counts as before it only when something follows that is in it", () => {
    expect(
      snapshotOverlap([event("update", "a", 2), sent(), event("update", "a", 3), sent()], snapshot({ a: 3 })),
    ).toEqual({ count: 3, isMixed: false });
    expect(snapshotOverlap([sent(), event("update", "a", 4)], snapshot({ a: 3 }))).toEqual({
      count: 0,
      isMixed: false,
    });
  });

  it("knows a deletion by the item that is not there, or was made anew", () => {
    expect(snapshotOverlap([event("delete", "b", 2), event("update", "a", 3)], snapshot({ a: 3 }))).toEqual({
      count: 2,
      isMixed: false,
    });
    expect(snapshotOverlap([event("delete", "b", 2), event("create", "b", 3)], snapshot({ b: 3 }))).toEqual({
      count: 2,
      isMixed: false,
    });
    expect(snapshotOverlap([event("delete", "b", 2)], snapshot({ b: 1 }))).toEqual({ count: 0, isMixed: false });
  });

  it("says so when an event that may be new comes before one that is in it", () => {
    expect(
      snapshotOverlap([event("create", "b", 1), event("delete", "b", 2), event("update", "a", 3)], snapshot({ a: 3 })),
    ).toEqual({
      count: 0,
      isMixed: true,
    });
    expect(snapshotOverlap([event("create", "b", 1), event("update", "b", 2)], snapshot({ a: 3 }))).toEqual({
      count: 0,
      isMixed: false,
    });
  });
});
