import type { LogRecord } from "@svc/engine";
import type { Shell } from "./shell.ts";

export type LogForm = "text" | "json";

/** One log line for people: time of day, level, message, then the fields as `name=value`. Errors show their stack below. */
export function textLine(record: LogRecord, paint: Shell["paint"]): string {
  const time = new Date(record.time);
  const clock = [time.getHours(), time.getMinutes(), time.getSeconds()].map((part) => String(part).padStart(2, "0")).join(":");
  const label = { debug: paint.dim("debug"), info: paint.green("info "), warn: paint.yellow("warn "), error: paint.red("error") }[record.level];
  const fields: string[] = [];
  const stacks: string[] = [];
  for (const [name, value] of Object.entries(record.fields)) {
    if (value === undefined) continue;
    if (value instanceof Error) {
      fields.push(`${paint.dim(`${name}=`)}${printable(value.message)}`);
      if (record.level === "error" && value.stack !== undefined) stacks.push(value.stack.replaceAll(/^/gm, "    "));
    } else {
      fields.push(`${paint.dim(`${name}=`)}${printable(value)}`);
    }
  }
  const head = [paint.dim(`${clock}.${String(time.getMilliseconds()).padStart(3, "0")}`), label, record.message, ...fields].join(" ");
  return [head, ...stacks].join("\n");
}

/** A value in one line. What would move the cursor or recolour the terminal is escaped, since workers choose some of the values. */
function printable(value: unknown): string {
  if (typeof value === "string") return /^[^\s"=\p{Cc}]+$/u.test(value) ? value : JSON.stringify(value);
  try {
    return JSON.stringify(value) ?? String(value);
  } catch {
    return String(value);
  }
}
