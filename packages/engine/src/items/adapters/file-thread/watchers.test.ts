import { expect, it } from "vitest";
import { defaultDriver } from "../../../store/driver.ts";
import type { WriteBuffer } from "../../../store/procedures.ts";
import { openMemoryDatabase } from "../../../store/replicated/open-replica.ts";
import type { StoredWatcher } from "../../shared-watchers.ts";
import { openProcedures, schema } from "./procedures.ts";

const all: StoredWatcher = {
  ...{ id: "", scope: null, key: null, prefix: "", kinds: ["created", "updated", "deleted"] },
  ...{ isTrusted: true, name: "" },
};

function openItems() {
  const database = openMemoryDatabase({ schema, openProcedures }, { seed: undefined, driver: defaultDriver() });
  let buffer: WriteBuffer | undefined;
  const time = { now: () => 1, wall: () => 1 };
  const useBuffer = (given: WriteBuffer): void => {
    buffer = given;
  };
  const procedures = openProcedures(database, useBuffer, time, { isMember: () => true });
  let count = 0;
  return {
    database,
    discard: () => buffer?.discard(),
    watch: (watcher: Partial<StoredWatcher>) => procedures.watch.run({ engine: "a", watcher: { ...all, ...watcher } }),
    unwatch: (id: string) => procedures.unwatch.run({ engine: "a", id, isTrusted: true, isKept: false }),
    /** Changes an item. Returns the watchers for which the change was stored. */
    change(scope: string, key: string): readonly string[] {
      count += 1;
      const written = procedures.set.run({ scope, key, json: `${count}`, bytes: 1, now: 1, isShared: true });
      if (written.status !== "written") throw new Error(`the item ${key} was not written`);
      return written.logged?.[0]?.watchers ?? [];
    },
  };
}

it("a write finds the watchers of its item, in the order of their ids", () => {
  const { watch, change } = openItems();
  watch({ id: "d", scope: "s", key: "k1" });
  watch({ id: "c", prefix: "k" });
  watch({ id: "b", scope: "s" });
  watch({ id: "a", scope: "other" });
  watch({ id: "e", key: "\u0000" });
  watch({ id: "f", scope: "s", kinds: ["deleted"] });
  expect(change("s", "k1")).toEqual(["b", "c", "d"]);
  expect(change("s", "k2")).toEqual(["b", "c"]);
  expect(change("other", "x")).toEqual(["a"]);
  expect(change("t", "\u0000")).toEqual(["e"]);
});

it("a write finds a watcher from the write after it was added to the one before it ended", () => {
  const { watch, unwatch, change } = openItems();
  expect(change("s", "k")).toEqual([]);
  watch({ id: "a" });
  expect(change("s", "k")).toEqual(["a"]);
  watch({ id: "b", scope: "s" });
  expect(change("s", "k")).toEqual(["a", "b"]);
  unwatch("a");
  expect(change("s", "k")).toEqual(["b"]);
});

it("a watcher whose addition was rolled back is not found", () => {
  const { database, discard, watch, change } = openItems();
  database.exec("BEGIN");
  watch({ id: "a" });
  expect(change("s", "k")).toEqual(["a"]);
  discard();
  database.exec("ROLLBACK");
  expect(change("s", "k")).toEqual([]);
});
