import pc from "picocolors";
import { expect, it } from "vitest";
import { shownLine, writerOf } from "./worker-lines.ts";
import type { WorkerLine } from "./worker-logs.ts";

const plain = { paint: pc.createColors(false), quietIds: false };
const time = "2026-01-31T10:00:00.000Z";
const line = (text: string, stream: WorkerLine["stream"] = "err", worker = "math"): WorkerLine => ({
  worker,
  time,
  stream,
  replica: null,
  text,
});

it("marks standard error and removes control characters", () => {
  expect(shownLine(line("careful\u001b[2J"), plain)).toEqual({ bar: "!", time, text: "careful" });
  expect(shownLine(line("fine", "out"), plain)).toMatchObject({ bar: "|", text: "fine" });
});

it("formats the lines of loggers with level and message, without the worker's name", () => {
  const record = { time: "2026-01-31T10:00:00.100Z", level: "warn", message: "late", worker: "math", ms: 7 };

  expect(shownLine(line(JSON.stringify(record)), plain)).toEqual({
    bar: "|",
    time: record.time,
    text: "warn  late ms=7",
    id: undefined,
  });
  expect(shownLine(line(JSON.stringify({ ...record, worker: "other" })), plain).text).toBe(
    "warn  late worker=other ms=7",
  );
  expect(shownLine(line('{"level":"warn"}'), plain)).toMatchObject({ bar: "!", text: '{"level":"warn"}' });
});

it("numbers the processes of a worker with several", () => {
  expect([null, 2].map((replica) => writerOf({ ...line(""), replica }))).toEqual(["math", "math#2"]);
});

it("shortens the ids of a record, or leaves them out, and returns that of the entry", () => {
  const ids = { trace_id: "ab".repeat(16), span_id: "cd".repeat(8), log_id: "ef" };
  const text = JSON.stringify({ time: "2026-01-31T10:00:00.100Z", level: "info", message: "sold", ...ids });
  expect(shownLine(line(text), plain)).toMatchObject({ text: "info  sold trace=abababababab", id: "ef" });
  expect(shownLine(line(text), { ...plain, quietIds: true }).text).toBe("info  sold");
});
