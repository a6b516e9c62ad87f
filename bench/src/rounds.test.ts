import { describe, expect, it } from "vitest";
import type { Window } from "./generator/load.ts";
import { interleave } from "./rounds.ts";

describe("rounds", () => {
  it("alternate between the variants and drop the first of each", async () => {
    const order: string[] = [];
    const variant = (name: string) => async (): Promise<Window> => {
      order.push(name);
      return {
        operations: order.length,
        elapsedMs: 1,
        p50Us: 0,
        p99Us: 0,
        cpuUs: [],
        ownCpuUs: 0,
        peakResidentBytes: 0,
      };
    };

    const windows = await interleave({ a: variant("a"), b: variant("b") }, 2);

    expect(order).toEqual(["a", "b", "a", "b", "a", "b"]);
    expect(windows.a.map((window) => window.operations)).toEqual([3, 5]);
    expect(windows.b.map((window) => window.operations)).toEqual([4, 6]);
  });
});
