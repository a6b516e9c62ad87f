import { expect, it } from "vitest";
import { withShortIds } from "./short-ids.ts";

const uuid = "0197a3c2-5b1e-4b0e-9d8f-2f6d1c0a9b7e";
const fields = {
  trace_id: "ab".repeat(16),
  span_id: "cd".repeat(8),
  function_id: "math::add",
  invocation_id: uuid,
  order_id: uuid,
  worker_id: "w-1",
  log_id: "ef".repeat(8),
};

it("shortens the ids that svc made, and puts the trace last", () => {
  expect(Object.entries(withShortIds(fields, { quiet: false }))).toEqual([
    ["function_id", "math::add"],
    ["invocation_id", "0197a3c2"],
    ["order_id", uuid],
    ["worker_id", "w-1"],
    ["trace", "abababababab"],
  ]);
  expect(withShortIds({ workerId: uuid, traceId: fields.trace_id, spanId: fields.span_id }, { quiet: false })).toEqual({
    workerId: "0197a3c2",
    trace: "abababababab",
  });
});

it("leaves them out if they are not wanted", () => {
  expect(withShortIds(fields, { quiet: true })).toEqual({ function_id: "math::add", order_id: uuid, worker_id: "w-1" });
});
