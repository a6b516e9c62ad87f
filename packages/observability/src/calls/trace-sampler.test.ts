import { describe, expect, test } from "vitest";
import { newTraceId } from "./trace-ids.ts";
import { type SamplingConfig, TraceSampler } from "./trace-sampler.ts";

function samplerOf(ratio: number, sampling: Partial<NonNullable<SamplingConfig["sampling"]>> = {}): TraceSampler {
  return new TraceSampler({
    sampling_ratio: ratio,
    sampling: { rules: [], parent_based: true, keep_errors: true, keep_slow_ms: 1_000, ...sampling },
  });
}

const traceIds = Array.from({ length: 20_000 }, newTraceId);

describe("sampling", () => {
  test("keeps about its ratio, by the trace id alone", () => {
    const [one, other] = [samplerOf(0.1), samplerOf(0.1)];
    const kept = traceIds.filter((id) => one.decide(id, "a", "b"));
    expect(kept.length / traceIds.length).toBeGreaterThan(0.08);
    expect(kept.length / traceIds.length).toBeLessThan(0.12);
    expect(traceIds.filter((id) => other.decide(id, "c", "d"))).toEqual(kept);
  });

  test("with a higher ratio keeps what a lower one keeps", () => {
    const [few, many] = [samplerOf(0.1), samplerOf(0.5)];
    expect(traceIds.filter((id) => few.decide(id, "", "") && !many.decide(id, "", ""))).toEqual([]);
  });

  test("keeps all at 1 and none at 0", () => {
    expect(traceIds.every((id) => samplerOf(1).decide(id, "", ""))).toBe(true);
    expect(traceIds.some((id) => samplerOf(0).decide(id, "", ""))).toBe(false);
    expect(samplerOf(1).keepsAll).toBe(true);
  });

  test("goes by the first rule that matches name and service, else by the default", () => {
    const sampler = samplerOf(1, {
      default: 0,
      rules: [
        { operation: "health::*", rate: 0 },
        { service: "math-?", rate: 1 },
        { operation: "*", service: "other", rate: 1 },
      ],
    });
    const id = newTraceId();
    expect(sampler.decide(id, "health::check", "math-1")).toBe(false);
    expect(sampler.decide(id, "math::add", "math-1")).toBe(true);
    expect(sampler.decide(id, "math::add", "math-10")).toBe(false);
    expect(sampler.decide(id, "math::add", "other")).toBe(true);
  });

  test("begins no more traces in a second than configured", () => {
    const sampler = samplerOf(1, { rate_limit: { max_traces_per_second: 10 } });
    const begun = (nowMs: number): number =>
      traceIds.slice(0, 100).filter((id) => sampler.decideRoot(id, "", "", nowMs)).length;
    expect([begun(0), begun(0), begun(500), begun(60_000)]).toEqual([10, 0, 5, 10]);
  });

  test("with less than one trace in a second begins one at times", () => {
    const sampler = samplerOf(1, { rate_limit: { max_traces_per_second: 0.5 } });
    expect([0, 1_000, 2_000, 3_000, 4_000].map((ms) => sampler.decideRoot(newTraceId(), "", "", ms))).toEqual([
      true,
      false,
      true,
      false,
      true,
    ]);
  });
});
