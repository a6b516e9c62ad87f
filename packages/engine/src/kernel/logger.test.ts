import { describe, expect, it } from "vitest";
import { logEntryOf } from "./log-telemetry.ts";
import { createLogger, type LogLevel, type LogRecord, observedLogger } from "./logger.ts";

function observed(level: LogLevel, tell?: (record: LogRecord, log: () => void) => void) {
  const written: LogRecord[] = [];
  const told: LogRecord[] = [];
  const logger = observedLogger(
    createLogger({ level: "debug", now: () => 1, write: (record) => written.push(record) }),
    {
      level: () => level,
      now: () => 2,
      observe: (record) => {
        told.push(record);
        tell?.(record, () => logger.error("while told"));
      },
    },
  );
  return { logger, written, told };
}

describe("an observed logger", () => {
  it("writes as before and tells each record at its level or above, with all fields", () => {
    const { logger, written, told } = observed("info");
    const inner = logger.with({ module: "m" });
    inner.debug("quiet");
    inner.with({ a: 1 }).warn("loud", { b: 2 });
    expect(written.map(({ message }) => message)).toEqual(["quiet", "loud"]);
    expect(told).toEqual([{ time: 2, level: "warn", message: "loud", fields: { module: "m", a: 1, b: 2 } }]);
  });

  it("does not tell what whoever is told logs", () => {
    const { logger, written, told } = observed("debug", (_record, log) => log());
    logger.info("once");
    logger.info("twice");
    expect(told.map(({ message }) => message)).toEqual(["once", "twice"]);
    expect(written.map(({ message }) => message)).toEqual(["once", "while told", "twice", "while told"]);
  });
});

describe("a line of the engine's log as an entry", () => {
  it("has its fields as attributes, and an error as OpenTelemetry tells one", () => {
    const circle: Record<string, unknown> = {};
    circle.self = circle;
    const error = Object.assign(new Error("broken"), { code: "EPIPE" });
    const entry = logEntryOf({
      time: 5,
      level: "error",
      message: "m",
      fields: { n: 1, list: [{ a: undefined }], none: undefined, circle, big: 1n, error },
    });
    expect(entry).toEqual({
      timeMs: 5,
      severity: 17,
      body: "m",
      attributes: {
        n: 1,
        list: [{}],
        circle: "[object Object]",
        big: "1",
        "exception.type": "EPIPE",
        "exception.message": "broken",
        "exception.stacktrace": error.stack,
      },
    });
  });
});
