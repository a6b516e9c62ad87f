import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Ended, type TestSystem, testSystem } from "../data-commands.test-support.ts";
import { EXIT } from "../exit-codes.ts";

let system: TestSystem;
const top = (...args: readonly string[]): Promise<Ended> => system.svc(["metrics", "top", ...args]);

beforeAll(async () => {
  system = await testSystem("workers: []\n");
  const { worker } = system;
  worker.registerFunction("math::add", () => 3);
  worker.registerFunction("math::broken", () => {
    throw new Error("out of numbers");
  });
  for (let call = 0; call < 3; call++) await worker.call({ function_id: "math::add" });
  await worker.call({ function_id: "math::broken" }).catch(() => {});
}, 60_000);

afterAll(() => system.stop());

describe("svc metrics top", () => {
  it("lists functions by calls, errors or durations", async () => {
    // The engine takes its samples every five seconds.
    await expect.poll(async () => (await top()).out, { timeout: 20_000 }).toContain("math::broken");
    const { out } = await top();
    expect(out).toMatch(
      /^FUNCTION +CALLS +PER S +ERRORS +P50 +P95 +P99 +MAX\nmath::add +3 +0\.00 +0 +[\d.]+ .*\nmath::broken +1 +0\.00 +1 /,
    );
    expect(out).not.toContain("engine::");
    expect((await top("--sort", "errors", "--limit", "1")).out).toMatch(/\nmath::broken [^\n]*\n$/);
    expect((await top("--all")).out).toContain("engine::metrics::functions");
    expect(JSON.parse((await top("--json")).out)).toMatchObject({
      functions: [
        { function_id: "math::add", calls: 3, errors: 0 },
        { function_id: "math::broken", calls: 1, errors: 1 },
      ],
      totals: { errors: expect.any(Number) },
    });
  });

  it("rejects a window that is too short, and --watch without a terminal", async () => {
    expect(await top("--window", "1s")).toMatchObject({ status: EXIT.usage });
    expect(await top("--watch")).toMatchObject({ status: EXIT.usage });
    expect(await top("--watch", "--json")).toMatchObject({ status: EXIT.usage });
  });
});
