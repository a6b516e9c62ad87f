import type { NodeListing } from "@svc-runtime/protocol/listings";
import { expect, it } from "vitest";
import { untilDrained } from "./nodes-drain.ts";

const A = { name: "a", run: "1", self: true, reason: null, gone_at_ms: null, report: null } as const;

/** Waits until the engine is drained, while the rows are what the list shows, one after the other. */
function awaited(...rows: readonly NodeListing[]): Promise<NodeListing> {
  const left = [...rows];
  return untilDrained(async () => left.splice(0, 1), { name: "a", run: "1" }, 10_000);
}

it("waits until the engine is drained", async () => {
  const drained = { ...A, state: "drained" } as const;
  expect(await awaited({ ...A, state: "draining" }, drained)).toBe(drained);
});

it.each([
  [{ ...A, state: "up" }, "Engine a is no longer draining: it was undrained"],
  [{ ...A, state: "up", run: "2" }, "Engine a is no longer draining: it has restarted"],
  [{ ...A, state: "gone" }, "Engine a is gone"],
] as const)("says why the engine does not drain any more", async (row, message) => {
  await expect(awaited(row)).rejects.toThrow(message);
});
