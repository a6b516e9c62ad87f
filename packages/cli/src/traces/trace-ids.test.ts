import { expect, it } from "vitest";
import { fullTraceId, type TraceRow } from "./trace-ids.ts";

it("escapes span names in the list of matching traces", async () => {
  const row = { service: null, status: "ok", start_time_ms: 0, duration_ms: 1, span_count: 1, error_count: 0 };
  const traces: readonly TraceRow[] = ["a1", "a2"].map((trace_id) => ({
    ...row,
    trace_id,
    root_name: "pay\n  faked \u001b[2J",
  }));
  const engine = {
    call: async <Result>(): Promise<Result> => ({ spans: traces.map((trace) => ({ trace })), cursor: null }) as Result,
  };
  await expect(fullTraceId(engine, "a")).rejects.toMatchObject({
    advice: [expect.stringMatching(/a1 .*pay\\u000a {2}faked \\u001b\[2J$/), expect.stringContaining("a2")],
  });
});
