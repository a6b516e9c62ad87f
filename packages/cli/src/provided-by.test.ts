import { describe, expect, it } from "vitest";
import { providedBy } from "./provided-by.ts";

describe("what a worker provides", () => {
  it("stands on one line when it is little", () => {
    expect(providedBy({ name: "math", functions: ["math::add"], trigger_types: [] })).toBe("math::add (1 function)");
    expect(providedBy({ name: "svc", functions: ["a", "b"], trigger_types: ["t"] })).toBe("a, b (2 functions), t (1 trigger type)");
    expect(providedBy({ name: "quiet", functions: [], trigger_types: [] })).toBe("quiet");
  });

  it("is counted and wrapped at the terminal's width when it is much", () => {
    const functions = ["state::get", "state::set", "state::list", "state::a-name-wider-than-the-terminal", "state::z"];

    expect(providedBy({ name: "svc-state", functions, trigger_types: ["state", "state:created"] }, 26)).toBe(
      `svc-state, 5 functions, 2 trigger types
  state::get, state::set,
  state::list,
  state::a-name-wider-than-the-terminal,
  state::z
  state, state:created`,
    );
  });
});
