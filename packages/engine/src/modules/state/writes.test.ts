import { expect, it } from "vitest";
import { memoryItems } from "../../items/adapters/memory.ts";
import { systemClock } from "../../kernel/clock.ts";
import { type ChangeListener, type WriteOrigin, Writes } from "./writes.ts";

it("hands each change over with the notice that was made for its write, so that none need be remembered until then", async () => {
  const told: (readonly [string, number, string | undefined])[] = [];
  let notices = 0;
  const listener: ChangeListener = {
    notice: () => ({
      watchers: [{ id: "w", kinds: new Set(["created", "updated", "deleted"]) }],
      origin: `notice ${++notices}`,
    }),
    unclear: () => {},
    changed: (changes, origin) => told.push(...changes.map(({ key, version }) => [key, version, origin] as const)),
  };
  const store = memoryItems({ maxBytes: 1_000_000, clock: systemClock });
  const writes = new Writes({ store, clock: systemClock, listener, onExpiry: () => {} });
  const origin: WriteOrigin = {};
  const set = (key: string, json: string) => ({
    scope: "s",
    key,
    ifVersion: undefined,
    value: { json, bytes: json.length },
    expiresAt: undefined,
  });
  await writes.set(set("a", "1"), origin);
  await writes.setMany([set("a", "2"), set("a", "2"), set("b", "1")], origin);
  await writes.deleteMany("s", ["never", "b"], origin);
  // A write that another one makes to the same store, e.g. another engine.
  const others = new Writes({
    store,
    clock: systemClock,
    listener: { ...listener, changed: () => {} },
    onExpiry: () => {},
  });
  await others.set(set("c", "1"), origin);
  expect(told).toEqual([
    ["a", 1, "notice 1"],
    ["a", 2, "notice 2"],
    ["b", 1, "notice 4"],
    ["b", 2, "notice 6"],
    ["c", 3, "notice 7"],
  ]);
});
