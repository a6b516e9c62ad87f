import type { LogRecord } from "@svc-runtime/engine";
import pc from "picocolors";
import { expect, it } from "vitest";
import { recordText } from "../logs/log-lines.ts";
import { withShortIds } from "../logs/short-ids.ts";
import { workerRecordOf } from "./worker-record.ts";

const plain = pc.createColors(false);
const line = (fields: LogRecord["fields"], level: LogRecord["level"] = "info"): LogRecord => ({
  time: 1,
  level,
  message: "a worker logs",
  fields: { module: "svc-observability", service: "shop", ...fields },
});
const shown = (line: LogRecord): string => {
  const record = workerRecordOf(line)?.record ?? line;
  return recordText({ ...record, fields: withShortIds(record.fields, { quiet: false }) }, plain);
};

it("returns what a worker logged without the fields that svc added", () => {
  const data = {
    shelf: 3,
    worker: "shop",
    worker_id: "w-1",
    "svc.worker.name": "shop",
    "svc.worker.pid": 7,
    "log.iostream": "stderr",
  };
  const record = line({ text: "low on tea", data, traceId: "ab".repeat(16), spanId: "cd".repeat(8) });
  expect(workerRecordOf(record)).toMatchObject({ service: "shop", isOutput: true, id: undefined });
  const sent = line({ text: "low on tea", data: { "svc.log.id": "1f" } });
  expect(workerRecordOf(sent)).toMatchObject({ isOutput: false, id: "1f", record: { fields: {} } });
  expect(shown(record)).toBe("info  low on tea shelf=3 trace=abababababab");
});

it("names the worker if its service has another name", () => {
  expect(shown(line({ worker: "shop-2", text: "open", data: { worker: "shop-2", till: 1 } }))).toBe(
    "info  open worker=shop-2 till=1",
  );
  expect(shown(line({ text: "hired", data: { worker: "bob" } }))).toBe("info  hired worker=bob");
});

it("shows truncated data and that an entry was truncated", () => {
  expect(shown(line({ text: "much", data: '{"a":', truncated: true }))).toBe(
    'info  much data="{\\"a\\":" truncated=true',
  );
});

it("shows the stack of an error below the line", () => {
  const data = {
    "exception.type": "TypeError",
    "exception.message": "no tea",
    "exception.stacktrace": "TypeError: no tea\n    at brew",
  };
  expect(shown(line({ text: "failed", data }, "error"))).toBe(
    'error failed error="no tea"\n    TypeError: no tea\n        at brew',
  );
});

it("ignores the engine's own lines", () => {
  expect(
    workerRecordOf({ time: 1, level: "info", message: "worker connected", fields: { worker: "shop" } }),
  ).toBeUndefined();
});
