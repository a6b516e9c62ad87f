import pc from "picocolors";
import { expect, it } from "vitest";
import { shownLine, writerOf } from "./worker-lines.ts";
import type { WorkerLine } from "./worker-logs.ts";

const plain = pc.createColors(false);
const time = "2026-01-31T10:00:00.000Z";
const line = (text: string, stream: WorkerLine["stream"] = "err", worker = "math"): WorkerLine => ({ worker, time, stream, replica: null, text });

it("marks what was written to standard error, and keeps a line from action the terminal", () => {
  expect(shownLine(line("careful\u001b[2J"), plain)).toEqual({ bar: "!", time, text: "careful" });
  expect(shownLine(line("fine", "out"), plain)).toMatchObject({ bar: "|", text: "fine" });
});

it("reads the lines of loggers: level and message in words, without the name that stands before them", () => {
  const record = { time: "2026-01-31T10:00:00.100Z", level: "warn", message: "late", worker: "math", ms: 7 };

  expect(shownLine(line(JSON.stringify(record)), plain)).toEqual({ bar: "|", time: record.time, text: "warn  late ms=7" });
  expect(shownLine(line(JSON.stringify({ ...record, worker: "other" })), plain).text).toBe("warn  late worker=other ms=7");
  expect(shownLine(line('{"level":"warn"}'), plain)).toMatchObject({ bar: "!", text: '{"level":"warn"}' });
});

it("numbers the processes of a worker that has several", () => {
  expect([null, 2].map((replica) => writerOf({ ...line(""), replica }))).toEqual(["math", "math#2"]);
});
