import type { LogRecord } from "@svc-runtime/engine";
import { jsonEscape } from "@svc-runtime/protocol/json-text";
import type { Shell } from "../shell.ts";

export type LogForm = "text" | "json";

/** Formats a local time, e.g. `14:05:09.123`. */
export function timeOfDay(ms: number): string {
  const time = new Date(ms);
  const clock = [time.getHours(), time.getMinutes(), time.getSeconds()]
    .map((part) => String(part).padStart(2, "0"))
    .join(":");
  return `${clock}.${String(time.getMilliseconds()).padStart(3, "0")}`;
}

/** Parses a JSON line of the engine's log. Returns undefined for any other line. */
export function parseLogLine(line: string): LogRecord | undefined {
  if (!line.startsWith("{")) return undefined;
  let parsed: unknown;
  try {
    parsed = JSON.parse(line);
  } catch {
    return undefined;
  }
  if (typeof parsed !== "object" || parsed === null) return undefined;
  const { time, level, message, ...rest } = parsed as Readonly<Record<string, unknown>>;
  if (typeof time !== "string" || Number.isNaN(Date.parse(time)) || typeof message !== "string" || !isLevel(level))
    return undefined;
  const fields = Object.fromEntries(Object.entries(rest).map(([name, value]) => [name, asError(value) ?? value]));
  return { time: Date.parse(time), level, message, fields };
}

function isLevel(level: unknown): level is LogRecord["level"] {
  return level === "debug" || level === "info" || level === "warn" || level === "error";
}

/** Restores an Error from its JSON form. Returns undefined for anything else. */
function asError(value: unknown): Error | undefined {
  if (typeof value !== "object" || value === null || !("message" in value) || !("stack" in value)) return undefined;
  const { message, stack } = value;
  return typeof message === "string" && typeof stack === "string"
    ? Object.assign(new Error(message), { stack })
    : undefined;
}

/**
 * Formats a log record for the terminal: time of day, level, message, and fields as `name=value`. Further lines of the
 * message and stacks of errors are below.
 */
export function textLine(record: LogRecord, paint: Shell["paint"]): string {
  return `${paint.dim(timeOfDay(record.time))} ${recordText(record, paint)}`;
}

/** Like `textLine`, without the time. */
export function recordText(record: LogRecord, paint: Shell["paint"]): string {
  const label = {
    debug: paint.dim("debug"),
    info: paint.green("info "),
    warn: paint.yellow("warn "),
    error: paint.red("error"),
  }[record.level];
  const fields: string[] = [];
  const stacks: string[] = [];
  for (const [name, value] of Object.entries(record.fields)) {
    if (value === undefined) continue;
    if (value instanceof Error) {
      fields.push(`${paint.dim(`${name}=`)}${printable(value.message)}`);
      if (record.level === "error" && value.stack !== undefined) stacks.push(...stackLines(value.stack));
    } else {
      fields.push(`${paint.dim(`${name}=`)}${printable(value)}`);
    }
  }
  const [message = "", ...more] = record.message.split("\n").map(escapeUnprintable);
  const head = [label, message, ...fields].join(" ");
  return [head, ...more.map((line) => `    ${line}`), ...stacks].join("\n");
}

/** Formats a stack for printing below its line. The trailing newline of some stacks is removed. */
export function stackLines(stack: string): readonly string[] {
  return stack
    .trimEnd()
    .split("\n")
    .map((line) => `    ${escapeUnprintable(line)}`);
}

/** Formats a value on one line. Control characters are escaped, because workers choose some of the values. */
export function printable(value: unknown): string {
  if (typeof value === "string")
    return /^[^\s"=\p{Cc}\p{Cf}]+$/u.test(value) ? value : escapeUnprintable(JSON.stringify(value));
  try {
    return escapeUnprintable(JSON.stringify(value) ?? String(value));
  } catch {
    return escapeUnprintable(String(value));
  }
}

/** Escapes control and format characters as in JSON. This includes bidirectional characters. */
export function escapeUnprintable(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Cf}]/gu, jsonEscape);
}

/** Like `escapeUnprintable`, but keeps line ends. */
export function escapeUnprintableLines(text: string): string {
  return text.split("\n").map(escapeUnprintable).join("\n");
}
