import pc from "picocolors";
import { expect, it } from "vitest";
import { textLine } from "./log-lines.ts";

const plain = pc.createColors(false);
const time = new Date(2026, 10, 21, 9, 5, 3, 7).getTime();

it("formats time, level, message and fields on one line", () => {
  expect(
    textLine(
      {
        time,
        level: "info",
        message: "worker connected",
        fields: { worker: "math-worker", pid: 12, note: "two words", gone: undefined },
      },
      plain,
    ),
  ).toBe('09:05:03.007 info  worker connected worker=math-worker pid=12 note="two words"');
});

it("shows the stack of an error only below an error line", () => {
  const error = new Error("disk full");

  expect(textLine({ time, level: "error", message: "could not write", fields: { error } }, plain)).toContain(
    'error="disk full"\n    Error: disk full',
  );
  expect(textLine({ time, level: "warn", message: "could not write", fields: { error } }, plain)).not.toContain("\n");
});

it("indents further lines of a message", () => {
  expect(textLine({ time, level: "info", message: "two\nlines", fields: { pid: 1 } }, plain)).toBe(
    "09:05:03.007 info  two pid=1\n    lines",
  );
});

it("escapes control characters", () => {
  expect(
    textLine({ time, level: "info", message: "worker connected", fields: { worker: "\u001b[2Jx" } }, plain),
  ).toContain('worker="\\u001b[2Jx"');
});

it("formats a field that JSON cannot represent", () => {
  const loop: { self?: unknown } = {};
  loop.self = loop;

  expect(textLine({ time, level: "info", message: "odd", fields: { loop } }, plain)).toContain("loop=[object Object]");
});
