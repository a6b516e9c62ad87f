import { describe, expect, it } from "vitest";
import { errorIn, outputEntry } from "./output-entry.ts";

const line = (text: string, stream: "stdout" | "stderr" = "stdout") => ({
  text,
  stream,
  worker: "shop",
  pid: 7,
  timeMs: 100,
});
const entryOf = (text: string) => outputEntry(line(text));

describe("a line that a worker printed", () => {
  it.each(["stdout", "stderr"] as const)(
    "is an entry of level INFO, with its stream and process, from %s",
    (stream) => {
      expect(outputEntry(line("\u001b[31mred\u001b[0m", stream))).toEqual({
        timeMs: 100,
        severity: 9,
        body: "\u001b[31mred\u001b[0m",
        attributes: { "log.iostream": stream, "svc.worker.name": "shop", "svc.worker.pid": 7 },
        service: "shop",
      });
    },
  );

  it("of our SDKs' loggers is taken apart, with its span", () => {
    const text = JSON.stringify({
      time: "1970-01-01T00:00:00.042Z",
      level: "warn",
      message: "low",
      shelf: { n: 3 },
      error: { type: "TypeError", code: "E1", message: "no", stack: "at x" },
      trace_id: "a".repeat(32),
      span_id: "b".repeat(16),
    });
    expect(entryOf(text)).toMatchObject({
      timeMs: 42,
      severity: 13,
      body: "low",
      service: "shop",
      traceId: "a".repeat(32),
      spanId: "b".repeat(16),
      attributes: {
        shelf: { n: 3 },
        "exception.type": "E1",
        "exception.message": "no",
        "exception.stacktrace": "at x",
        "log.iostream": "stdout",
      },
    });
  });

  it("of other loggers is taken apart by their names for level, time and message", () => {
    expect(entryOf('{"level":50,"time":12,"msg":"pino"}')).toMatchObject({ severity: 17, timeMs: 12, body: "pino" });
    expect(entryOf('{"severity":"CRITICAL","message":"py"}')).toMatchObject({ severity: 21, body: "py", timeMs: 100 });
  });

  it("with an id has the id, by which doubles are known", () => {
    expect(entryOf('{"level":"info","message":"a","log_id":"x1"}')?.attributes).toMatchObject({ "svc.log.id": "x1" });
  });

  it.each(["{", '{"level":{}}', '{"level":"loud","message":"a"}', "[1]", '{"message":"no level"}', "{}"])(
    "that only looks like one, %s, is kept as it is",
    (text) => {
      expect(entryOf(text)).toMatchObject({ body: text, severity: 9 });
    },
  );

  it("cannot claim another worker or stream, nor change what objects are", () => {
    const entry = entryOf(
      '{"level":"info","message":"a","svc.worker.name":"till","log.iostream":"x","__proto__":{"polluted":1}}',
    );
    expect(entry?.attributes).toMatchObject({ "svc.worker.name": "shop", "log.iostream": "stdout" });
    expect(Object.getPrototypeOf(entry?.attributes ?? {})).toBeNull();
  });

  it("that is blank is none", () => {
    expect(entryOf("  ")).toBeUndefined();
  });
});

describe("the last line of a process that ended", () => {
  it.each([
    ["SyntaxError: invalid syntax", "SyntaxError: invalid syntax"],
    ['{"level":"error","message":"no database"}', "no database"],
    ['{"level":60,"msg":"out of disk"}', "out of disk"],
    [
      '{"level":"error","message":"it failed","error":{"type":"RuntimeError","message":"no database"}}',
      "it failed: no database",
    ],
    ['{"level":50,"msg":"no database","err":{"message":"no database"}}', "no database"],
    ['{"level":"info","message":"connected to the engine"}', undefined],
    ['{"level":40,"msg":"slow"}', undefined],
    ['{"problem":"no level"}', '{"problem":"no level"}'],
  ])("%s has the cause %s", (text, cause) => {
    expect(errorIn(text)).toBe(cause);
  });
});
