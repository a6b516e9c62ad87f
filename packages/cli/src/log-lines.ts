import type { LogRecord } from "@svc/engine";
import { jsonEscape } from "@svc/protocol/json-text";
import type { Shell } from "./shell.ts";

export type LogForm = "text" | "json";

/** `14:05:09.123`, where the user is. */
export function timeOfDay(ms: number): string {
  const time = new Date(ms);
  const clock = [time.getHours(), time.getMinutes(), time.getSeconds()].map((part) => String(part).padStart(2, "0")).join(":");
  return `${clock}.${String(time.getMilliseconds()).padStart(3, "0")}`;
}

/** A JSON line of the engine's log as it was before it was written; undefined for any other line. */
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
  if (typeof time !== "string" || Number.isNaN(Date.parse(time)) || typeof message !== "string" || !isLevel(level)) return undefined;
  const fields = Object.fromEntries(Object.entries(rest).map(([name, value]) => [name, asError(value) ?? value]));
  return { time: Date.parse(time), level, message, fields };
}

function isLevel(level: unknown): level is LogRecord["level"] {
  return level === "debug" || level === "info" || level === "warn" || level === "error";
}

/** An error, from what became of one in JSON; undefined for anything else. */
function asError(value: unknown): Error | undefined {
  if (typeof value !== "object" || value === null || !("message" in value) || !("stack" in value)) return undefined;
  const { message, stack } = value;
  return typeof message === "string" && typeof stack === "string" ? Object.assign(new Error(message), { stack }) : undefined;
}

/** One log line for people: time of day, level, message, then the fields as `name=value`. Further lines of the message stand below, and so do the stacks of errors. */
export function textLine(record: LogRecord, paint: Shell["paint"]): string {
  return `${paint.dim(timeOfDay(record.time))} ${recordText(record, paint)}`;
}

/** The same without its time. */
export function recordText(record: LogRecord, paint: Shell["paint"]): string {
  const label = { debug: paint.dim("debug"), info: paint.green("info "), warn: paint.yellow("warn "), error: paint.red("error") }[record.level];
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

/** A stack as it stands below its line; some of them come with a line end. */
export function stackLines(stack: string): readonly string[] {
  return stack
    .trimEnd()
    .split("\n")
    .map((line) => `    ${escapeUnprintable(line)}`);
}

/** A value in one line. What would move the cursor or recolour the terminal is escaped, since workers choose some of the values. */
export function printable(value: unknown): string {
  if (typeof value === "string") return /^[^\s"=\p{Cc}\p{Cf}]+$/u.test(value) ? value : escapeUnprintable(JSON.stringify(value));
  try {
    return escapeUnprintable(JSON.stringify(value) ?? String(value));
  } catch {
    return escapeUnprintable(String(value));
  }
}

/** Control and format characters (among them those that turn the direction of text) as JSON escapes. */
export function escapeUnprintable(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Cf}]/gu, jsonEscape);
}

/** The same line by line: the text keeps its line ends. */
export function escapeUnprintableLines(text: string): string {
  return text.split("\n").map(escapeUnprintable).join("\n");
}
