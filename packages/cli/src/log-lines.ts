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
      if (record.level === "error" && value.stack !== undefined)
        stacks.push(
          value.stack
            .split("\n")
            .map((line) => `    ${escapeUnprintable(line)}`)
            .join("\n"),
        );
    } else {
      fields.push(`${paint.dim(`${name}=`)}${printable(value)}`);
    }
  }
  const message = escapeUnprintable(record.message);
  const head = [paint.dim(`${clock}.${String(time.getMilliseconds()).padStart(3, "0")}`), label, message, ...fields].join(" ");
  return [head, ...stacks].join("\n");
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
  return text.replaceAll(/[\p{Cc}\p{Cf}]/gu, (character) => `\\u${(character.codePointAt(0) ?? 0).toString(16).padStart(4, "0")}`);
}
