import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Ended, type TestSystem, testSystem } from "../data-commands.test-support.ts";
import { EXIT } from "../exit-codes.ts";

let system: TestSystem;
const top = (...args: readonly string[]): Promise<Ended> => system.svc(["metrics", "top", ...args]);

beforeAll(async () => {
  system = await testSystem("workers:\n  - name: svc-state\n");
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
    const { out } = await top();
    expect(out).toMatch(
      /^FUNCTION +CALLS +PER S +ERRORS +P50 MS +P95 MS +P99 MS +MAX MS\nmath::add +3 +0\.00 +0 +[\d.]+ .*\nmath::broken +1 +0\.00 +1 /,
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

  it("lists a call of another command at once", async () => {
    expect(await system.svc(["state", "set", "carts", "ada", "1"])).toMatchObject({ status: EXIT.done });
    expect((await top()).out).toMatch(/\nstate::set +1 /);
  });

  it("has no calls that other commands make to find out what runs", async () => {
    await system.svc(["doctor"]);
    expect((await top()).out).not.toContain("(other)");
  });

  it.each([
    [
      "nothing was called",
      "workers: []\n",
      "No function was called in this window.\nNot counted: the engine's own functions",
    ],
    [
      "metrics are off",
      "workers:\n  - name: svc-observability\n    config: {metrics_enabled: false}\n",
      "No figures: metrics are off: metrics_enabled of svc-observability is false.\n",
    ],
  ])("explains an empty list: %s", async (_, config, notes) => {
    const other = await testSystem(config);
    expect(await other.svc(["metrics", "top"])).toMatchObject({ out: "", notes: expect.stringContaining(notes) });
    await other.stop();
  });

  it("rejects a window that is too short, and --watch without a terminal", async () => {
    expect(await top("--window", "1s")).toMatchObject({ status: EXIT.usage });
    expect(await top("--watch")).toMatchObject({ status: EXIT.usage });
    expect(await top("--watch", "--json")).toMatchObject({ status: EXIT.usage });
  });
});
