import { expect, it } from "vitest";
import type { UpdateOp } from "../../update-op.ts";
import type { Suite } from "./harness.ts";

const increment: UpdateOp = { type: "increment", path: "n", by: 1 };
const failing: UpdateOp = { type: "increment", path: "text", by: 1 };

/** Tests the effect of updates on the item. Tests of `applyOps` cover the operations. */
export function updateTests(suite: Suite): void {
  it("applies operations where the item lies, and answers both values", async () => {
    expect(await suite.update("s", "k", [increment], { now: 5 })).toEqual({
      status: "written",
      previous: undefined,
      item: { key: "k", json: '{"n":1}', version: 1, updatedAt: 5, bytes: 7, expiresAt: undefined },
      changes: [
        {
          kind: "created",
          scope: "s",
          key: "k",
          version: 1,
          previous: undefined,
          json: '{"n":1}',
          at: 5,
          seq: undefined,
          watchers: [],
        },
      ],
      errors: [],
    });
    expect(
      await suite.update("s", "k", [increment, { type: "set", path: "text", value: "é" }], { now: 6 }),
    ).toMatchObject({
      status: "written",
      previous: '{"n":1}',
      item: { json: '{"n":2,"text":"é"}', version: 2, updatedAt: 6, bytes: 19 },
      changes: [{ kind: "updated", version: 2, previous: '{"n":1}', json: '{"n":2,"text":"é"}' }],
    });
    expect(await suite.store.get("s", "k")).toMatchObject({ json: '{"n":2,"text":"é"}', version: 2, bytes: 19 });
  });

  it("writes nothing of an update of which one operation fails, and says which", async () => {
    await suite.put("s", "k", '{"n":1,"text":"x"}');
    expect(await suite.update("s", "k", [increment, failing])).toMatchObject({
      status: "unchanged",
      previous: '{"n":1,"text":"x"}',
      item: { json: '{"n":1,"text":"x"}', version: 1 },
      changes: [],
      errors: [{ op_index: 1, code: "increment.not_number" }],
    });
    expect(await suite.update("s", "missing", [{ type: "append", path: ["a", "__proto__"], value: 1 }])).toMatchObject({
      status: "unchanged",
      previous: undefined,
      item: undefined,
      changes: [],
      errors: [{ op_index: 0 }],
    });
    expect(await suite.store.get("s", "missing")).toBeUndefined();
  });

  it("does the other operations when it need not be atomic", async () => {
    await suite.put("s", "k", '{"n":1,"text":"x"}');
    expect(await suite.update("s", "k", [failing, increment], { atomic: false })).toMatchObject({
      status: "written",
      item: { json: '{"n":2,"text":"x"}', version: 2 },
      errors: [{ op_index: 0 }],
    });
  });

  it("keeps version and time when an update changes nothing", async () => {
    await suite.put("s", "k", '{"n":1}', { now: 5 });
    expect(await suite.update("s", "k", [{ type: "set", path: "n", value: 1 }], { now: 9 })).toMatchObject({
      status: "unchanged",
      item: { version: 1, updatedAt: 5 },
      changes: [],
      errors: [],
    });
  });

  it("updates only at the expected version when one is given", async () => {
    expect(await suite.update("s", "k", [increment], { ifVersion: 3 })).toEqual({ status: "conflict", actual: 0 });
    expect(await suite.update("s", "k", [increment], { ifVersion: 0 })).toMatchObject({ status: "written" });
    expect(await suite.update("s", "k", [increment], { ifVersion: 1 })).toMatchObject({ item: { version: 2 } });
    expect(await suite.update("s", "k", [increment], { ifVersion: 1 })).toEqual({ status: "conflict", actual: 2 });
  });

  it("refuses an update whose result is too large, and others may go on", async () => {
    await suite.put("s", "k", '"12345"');
    const outcomes = await Promise.allSettled([
      suite.update("s", "k", [{ type: "append", path: "", value: "678901" }], { maxBytes: 12 }),
      suite.update("s", "other", [increment]),
    ]);
    expect(outcomes).toMatchObject([
      { status: "rejected", reason: { code: "payload_too_large", details: { bytes: 13, limit: 12 } } },
      { status: "fulfilled", value: { status: "written" } },
    ]);
    expect(await suite.json("s", "k")).toBe('"12345"');
  });

  it("counts versions on over sets, updates and deletions", async () => {
    const versions = [];
    for (let round = 0; round < 3; round++) {
      for (const call of [
        () => suite.set("s", "k", "{}"),
        () => suite.update("s", "k", [increment]),
        () => suite.delete("s", "k"),
      ]) {
        const outcome = await call();
        if (outcome.status === "written") versions.push(...outcome.changes.map((change) => change.version));
      }
    }
    expect(versions).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9]);
  });
}
