import { describe, expect, it } from "vitest";
import { providedBy } from "./provided-by.ts";

describe("what a worker provides", () => {
  it("fits on one line if it is little", () => {
    expect(providedBy({ name: "math", functions: ["math::add"], trigger_types: [] })).toBe("math::add (1 function)");
    expect(providedBy({ name: "svc", functions: ["a", "b"], trigger_types: ["t"] })).toBe(
      "a, b (2 functions), t (1 trigger type)",
    );
    expect(providedBy({ name: "quiet", functions: [], trigger_types: [] })).toBe("quiet");
  });

  it("is counted if it is much, with the first few functions", () => {
    const functions = ["a::1", "a::2", "a::3", "a::4", "a::5", "a::6"];

    expect(providedBy({ name: "math", functions, trigger_types: ["t"] })).toBe(
      "math, 6 functions, 1 trigger type, e.g. a::1, a::2, a::3, a::4, a::5\n  List all: svc functions --worker math",
    );
  });

  it("includes only functions with its own prefix for a built-in worker", () => {
    const functions = [
      "engine::queue::enqueue",
      "other::queue",
      "queue::list",
      "queue::peek",
      "svc::durable::publish",
      "queue::purge",
    ];

    expect(providedBy({ name: "svc-queue", functions, trigger_types: [] })).toBe(
      "svc-queue, 6 functions, e.g. queue::list, queue::peek, queue::purge\n  List all: svc functions --worker svc-queue",
    );
  });
});
