import { CronPattern } from "croner";

/** The fields of the long form, in order, with their allowed values. */
const FIELDS: readonly { readonly name: string; readonly allowed: string }[] = [
  { name: "second", allowed: "0 to 59" },
  { name: "minute", allowed: "0 to 59" },
  { name: "hour", allowed: "0 to 23" },
  { name: "day of the month", allowed: "1 to 31, L for the last day, or 15W for the weekday nearest to the 15th" },
  { name: "month", allowed: "1 to 12 or JAN to DEC" },
  {
    name: "day of the week",
    allowed: "0 to 7 or SUN to SAT (Sunday is 0 and 7), or MON#1 for the first Monday of the month",
  },
  { name: "year", allowed: "1 to 9999" },
];

/** Shorthands in the canonical form, with seconds. */
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

/** croner's parser options, here and for computing ticks. `0/15` means `0-59/15`, as in other systems with seconds. */
export const PARSER_OPTIONS = { mode: "6-or-7-parts", sloppyRanges: true } as const;

/** Thrown for an invalid cron expression. The message names the field and its position. */
export class ExpressionError extends Error {}

/**
 * Returns the canonical form of an expression: six or seven fields in upper case, separated by one space; five fields
 * get the second `0`. Throws ExpressionError.
 */
export function canonicalExpression(text: string): string {
  if (text.length > MAX_EXPRESSION_CHARACTERS)
    throw expressionError(text, `has more than ${MAX_EXPRESSION_CHARACTERS} characters`);
  const trimmed = text.trim();
  if (trimmed.startsWith("@")) {
    const expression = SHORTHANDS.get(trimmed.toLowerCase());
    if (expression === undefined)
      throw expressionError(text, `unknown shorthand; use one of ${[...SHORTHANDS.keys()].join(", ")}`);
    return expression;
  }
  const fields = [...text.matchAll(/\S+/g)].map((match) => ({
    text: match[0].toUpperCase(),
    character: match.index + 1,
  }));
  if (fields.length < 5 || fields.length > 7) {
    const are = fields.length === 1 ? "is 1 field" : `are ${fields.length} fields`;
    throw expressionError(
      text,
      `there ${are}; use five (minute hour day month weekday), six (second first) or seven (year last)`,
    );
  }
  const long = fields.length === 5 ? [{ text: "0", character: 0 }, ...fields] : fields;
  const canonical = long.map((field) => field.text).join(" ");
  if (problemOf(canonical) === undefined) return canonical;
  const missing = long.length - fields.length;
  for (const [index, field] of long.entries()) {
    const problem = problemOf(long.map((_, other) => (other === index ? field.text : "*")).join(" "));
    if (problem === undefined) continue;
    const { name, allowed } = FIELDS[index] as (typeof FIELDS)[number];
    throw expressionError(
      text,
      `field ${index + 1 - missing} (${name}), character ${field.character}: '${field.text}' is invalid (${problem}); allowed: ${allowed}`,
    );
  }
  throw expressionError(text, problemOf(canonical) ?? "is invalid");
}

export function expressionError(text: string, reason: string): ExpressionError {
  return new ExpressionError(`Invalid cron expression '${text.slice(0, MAX_EXPRESSION_CHARACTERS)}': ${reason}`);
}

function problemOf(expression: string): string | undefined {
  try {
    new CronPattern(expression, undefined, PARSER_OPTIONS);
    return undefined;
  } catch (thrown) {
    const message = thrown instanceof Error ? thrown.message : String(thrown);
    return message.replace(/^CronPattern: /, "").replace(/\.$/, "");
  }
}
