import type { LogRecord } from "@svc/engine";
import pc from "picocolors";
import { expect, it } from "vitest";
import { recordText } from "./log-lines.ts";
import { workerRecordOf } from "./worker-record.ts";

const plain = pc.createColors(false);
const line = (fields: LogRecord["fields"], level: LogRecord["level"] = "info"): LogRecord => ({
  time: 1,
  level,
  message: "a worker logs",
  fields: { module: "svc-observability", service: "shop", ...fields },
});
const shown = (record: LogRecord): string => recordText(workerRecordOf(record)?.record ?? record, plain);

it("tells what a worker logged without what svc added to it", () => {
  const data = { shelf: 3, worker: "shop", worker_id: "w-1", "svc.worker.name": "shop", "svc.worker.pid": 7, "log.iostream": "stderr" };
  const record = line({ text: "low on tea", data, traceId: "ab".repeat(16), spanId: "cd".repeat(8) });
  expect(workerRecordOf(record)).toMatchObject({ service: "shop", isOutput: true });
  expect(shown(record)).toBe("info  low on tea shelf=3 trace=abababababab");
});

it("names the worker where its service is another", () => {
  expect(shown(line({ worker: "shop-2", text: "open", data: { worker: "shop-2", till: 1 } }))).toBe("info  open worker=shop-2 till=1");
  expect(shown(line({ text: "hired", data: { worker: "bob" } }))).toBe("info  hired worker=bob");
});

it("shows data that was cut, and that an entry was cut", () => {
  expect(shown(line({ text: "much", data: '{"a":', truncated: true }))).toBe('info  much data="{\\"a\\":" truncated=true');
});

it("sets the stack of an error below the line", () => {
  const data = { "exception.type": "TypeError", "exception.message": "no tea", "exception.stacktrace": "TypeError: no tea\n    at brew" };
  expect(shown(line({ text: "failed", data }, "error"))).toBe('error failed error="no tea"\n    TypeError: no tea\n        at brew');
});

it("leaves the engine's own lines alone", () => {
  expect(workerRecordOf({ time: 1, level: "info", message: "worker connected", fields: { worker: "shop" } })).toBeUndefined();
});
