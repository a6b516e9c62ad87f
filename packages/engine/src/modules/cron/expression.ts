import { CronPattern } from "croner";

/** The fields of the long form, in order, and what each may hold. */
const FIELDS: readonly { readonly name: string; readonly holds: string }[] = [
  { name: "second", holds: "0 to 59" },
  { name: "minute", holds: "0 to 59" },
  { name: "hour", holds: "0 to 23" },
  { name: "day of the month", holds: "1 to 31, L for the last one, or 15W for the weekday nearest to the 15th" },
  { name: "month", holds: "1 to 12 or JAN to DEC" },
  { name: "day of the week", holds: "0 to 7 or SUN to SAT, Sunday being 0 and 7, MON#1 for the first Monday of the month" },
  { name: "year", holds: "1 to 9999" },
];

/** With seconds, as everything inside. */
const SHORTHANDS: ReadonlyMap<string, string> = new Map([
  ["@yearly", "0 0 0 1 1 *"],
  ["@annually", "0 0 0 1 1 *"],
  ["@monthly", "0 0 0 1 * *"],
  ["@weekly", "0 0 0 * * 0"],
  ["@daily", "0 0 0 * * *"],
  ["@midnight", "0 0 0 * * *"],
  ["@hourly", "0 0 * * * *"],
]);

export const MAX_EXPRESSION_CHARACTERS = 256;

/** How expressions are read, here and where ticks are computed: `0/15` is `0-59/15`, as in the systems that have seconds. */
export const READING = { mode: "6-or-7-parts", sloppyRanges: true } as const;

/** Why a text is no cron expression; the message names the field and the character. */
export class ExpressionError extends Error {}

/**
 * The one way to write an expression: six or seven fields in capitals with one space between them, `0` for the seconds of five. Throws
 * ExpressionError.
 */
export function canonicalExpression(text: string): string {
  if (text.length > MAX_EXPRESSION_CHARACTERS) throw refusal(text, `has more than ${MAX_EXPRESSION_CHARACTERS} characters`);
  const trimmed = text.trim();
  if (trimmed.startsWith("@")) {
    const meant = SHORTHANDS.get(trimmed.toLowerCase());
    if (meant === undefined) throw refusal(text, `there is no such shorthand; there are ${[...SHORTHANDS.keys()].join(", ")}`);
    return meant;
  }
  const fields = [...text.matchAll(/\S+/g)].map((match) => ({ text: match[0].toUpperCase(), character: match.index + 1 }));
  if (fields.length < 5 || fields.length > 7) {
    const are = fields.length === 1 ? "is 1 field" : `are ${fields.length} fields`;
    throw refusal(text, `there ${are}; write five (minute hour day month weekday), six (seconds first) or seven (and a year)`);
  }
  const long = fields.length === 5 ? [{ text: "0", character: 0 }, ...fields] : fields;
  const canonical = long.map((field) => field.text).join(" ");
  if (problemOf(canonical) === undefined) return canonical;
  const missing = long.length - fields.length;
  for (const [index, field] of long.entries()) {
    const problem = problemOf(long.map((_, other) => (other === index ? field.text : "*")).join(" "));
    if (problem === undefined) continue;
    const { name, holds } = FIELDS[index] as (typeof FIELDS)[number];
    throw refusal(
      text,
      `field ${index + 1 - missing} (${name}), character ${field.character}: '${field.text}' is not understood (${problem}); it takes ${holds}`,
    );
  }
  throw refusal(text, problemOf(canonical) ?? "is not understood");
}

export function refusal(text: string, reason: string): ExpressionError {
  return new ExpressionError(`Invalid cron expression '${text.slice(0, MAX_EXPRESSION_CHARACTERS)}': ${reason}`);
}

function problemOf(expression: string): string | undefined {
  try {
    new CronPattern(expression, undefined, READING);
    return undefined;
  } catch (thrown) {
    const message = thrown instanceof Error ? thrown.message : String(thrown);
    return message.replace(/^CronPattern: /, "").replace(/\.$/, "");
  }
}
