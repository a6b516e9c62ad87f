import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Watcher } from "./outbox.ts";
import { WatcherIndex } from "./watcher-index.ts";

const name = fc.constantFrom("a", "ab", "abc", "b", "😀", "😀x");
const filter = fc.record({
  scope: fc.option(name, { nil: undefined }),
  key: fc.option(name, { nil: undefined }),
  prefix: fc.constantFrom("", "a", "ab", "😀"),
});

describe("the index of watchers", () => {
  it("finds exactly the watchers that a scan would find, also after removals", () => {
    fc.assert(
      fc.property(fc.array(filter, { maxLength: 12 }), fc.nat(11), name, name, (filters, gone, scope, key) => {
        const index = new WatcherIndex<Watcher>();
        const watchers = filters.map((one, number): { readonly filter: typeof one; readonly watcher: Watcher } => ({
          filter: one,
          watcher: { id: String(number), kinds: new Set(["created"]) },
        }));
        for (const { filter: one, watcher } of watchers) index.add(one, watcher);
        const leaving = watchers[gone];
        if (leaving !== undefined) index.remove(leaving.filter, leaving.watcher);
        const wanted = watchers.filter(
          (entry) =>
            entry !== leaving &&
            (entry.filter.scope ?? scope) === scope &&
            (entry.filter.key === undefined ? key.startsWith(entry.filter.prefix) : entry.filter.key === key),
        );
        const found = index.matching(scope, key).map(({ id }) => id);
        expect(found.sort()).toEqual(wanted.map(({ watcher }) => watcher.id).sort());
      }),
    );
  });
});
