import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Store } from "../../kernel/store-contract.ts";
import type { LedgerProcedures } from "./ledger-procedures.ts";

/** Guarantees of `onApplied`, on every kind of store. `open` returns an empty store of the ledger. */
export function appliedSuite(name: string, open: () => Promise<Store<LedgerProcedures>>): void {
  describe(`the listeners of ${name}`, () => {
    let store: Store<LedgerProcedures>;
    beforeEach(async () => {
      store = await open();
    });
    afterEach(() => store.close());

    it("get each committed write in order, before its promise settles, and no other request", async () => {
      const seen: unknown[] = [];
      store.onApplied(({ procedure, input, output, isOwn, mark }) =>
        seen.push([procedure, input, output, isOwn, mark]),
      );
      const settled = (text: string) => () => seen.push(`${text} settled`);
      const mark = { of: "b" };
      await store.call("add", "a").then(settled("a"));
      await Promise.all([
        store.call("add", "b", { mark }).then(settled("b")),
        store.call("texts", null),
        store.call("addThenRefuse", "c").catch(settled("c")),
        store.call("addThenThrow", "d").catch(settled("d")),
        store.call("add", "e"),
      ]);
      expect(seen.slice(0, 2)).toEqual([["add", "a", 1, true, undefined], "a settled"]);
      const rest = seen.slice(2);
      expect(rest.filter((one) => typeof one !== "string")).toEqual([
        ["add", "b", 1, true, mark],
        ["add", "e", 1, true, undefined],
      ]);
      expect(rest.findIndex((one) => Array.isArray(one) && one[4] === mark)).toBeLessThan(rest.indexOf("b settled"));
    });

    it("are not called after they were removed, and cannot fail a write", async () => {
      let calls = 0;
      const remove = store.onApplied(() => {
        calls += 1;
        throw new Error("a test");
      });
      expect(await store.call("add", "a")).toBe(1);
      remove();
      expect(await store.call("add", "b")).toBe(1);
      expect(calls).toBe(1);
    });
  });
}
