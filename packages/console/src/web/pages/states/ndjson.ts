import { memberTexts } from "@svc-runtime/protocol/json-text";
import { t } from "../../labels/translate.ts";
import { formatJson, parseJson } from "../../lib/json.ts";
import { isSameJson, jsonProblem } from "../../lib/json-text.ts";
import { maskProblem } from "../../lib/mask-problem.ts";
import { maskedJson } from "../../lib/secrets.ts";
import { type Entry, nameProblem } from "./model.ts";

/** An item in a file. The format is that of `state::export`, and this page writes it too. */
export interface Line {
  readonly number: number;
  readonly scope: string;
  readonly key: string;
  readonly json: string;
  readonly expiresAtMs: number | undefined;
}

interface BadLine {
  readonly number: number;
  readonly problem: string;
}

/** Formats an item as a line of a file. */
export function lineOf(scope: string, { key, json, version, updatedAtMs, expiresAtMs }: Entry): string {
  const end = expiresAtMs === undefined ? "" : `,"expires_at":"${new Date(expiresAtMs).toISOString()}"`;
  return `{"scope":${JSON.stringify(scope)},"key":${JSON.stringify(key)},"value":${json},"version":${version},"updated_at":"${new Date(updatedAtMs).toISOString()}"${end}}`;
}

/** Formats an item with its secrets masked. If the item has secrets, the line cannot be imported. */
export function maskedLineOf(scope: string, entry: Entry): string {
  const json = maskedJson(entry.key, entry.json);
  return lineOf(scope, json === entry.json ? entry : { ...entry, json: formatJson(parseJson(json), 0) });
}

/** Parses the lines of a file. Empty lines are skipped. If two lines are for the same item, the later one is used. */
export function readLines(text: string): { readonly lines: readonly Line[]; readonly bad: readonly BadLine[] } {
  const lines = new Map<string, Line>();
  const bad: BadLine[] = [];
  for (const [at, content] of text.split(/\r?\n/).entries()) {
    if (content.trim() === "") continue;
    try {
      const line = readLine(content, at + 1);
      lines.set(JSON.stringify([line.scope, line.key]), line);
    } catch (thrown) {
      bad.push({ number: at + 1, problem: (thrown as Error).message });
    }
  }
  return { lines: [...lines.values()], bad };
}

function readLine(content: string, number: number): Line {
  const problem = jsonProblem(content);
  if (problem !== undefined) throw new SyntaxError(problem);
  const members = memberTexts(content);
  const name = (member: "scope" | "key"): string => {
    const value: unknown = JSON.parse(members.get(member) ?? "null");
    if (typeof value !== "string") throw new SyntaxError(t`\`${member}\` is missing or not a string`);
    const refused = nameProblem(value);
    if (refused !== undefined) throw new SyntaxError(`\`${member}\` ${refused}`);
    return value;
  };
  const json = members.get("value");
  if (json === undefined) throw new SyntaxError(t`\`value\` is missing`);
  const key = name("key");
  const mask = maskProblem(json, undefined, key);
  if (mask !== undefined) throw new SyntaxError(mask);
  const end: unknown = JSON.parse(members.get("expires_at") ?? "null");
  const expiresAtMs = typeof end === "string" ? Date.parse(end) : undefined;
  if (Number.isNaN(expiresAtMs)) throw new SyntaxError(t`\`expires_at\` is not a valid time`);
  return { number, scope: name("scope"), key, json, expiresAtMs };
}

/** What the import of a line would do. A line whose expiry has passed (`expired`) is skipped. */
export interface PlannedLine {
  readonly line: Line;
  readonly effect: "new" | "changed" | "same" | "expired";
  /** Version of the stored item. It is 0 if the item does not exist. */
  readonly version: number;
}

/** The lines of a file, compared with the stored items. */
export interface ImportPlan {
  readonly file: string;
  readonly planned: readonly PlannedLine[];
  readonly bad: readonly BadLine[];
}

export function planLine(line: Line, stored: Entry | null, nowMs: number): PlannedLine {
  if (line.expiresAtMs !== undefined && line.expiresAtMs <= nowMs)
    return { line, effect: "expired", version: stored?.version ?? 0 };
  if (stored === null) return { line, effect: "new", version: 0 };
  const isSame = isSameJson(line.json, stored.json) && line.expiresAtMs === stored.expiresAtMs;
  return { line, effect: isSame ? "same" : "changed", version: stored.version };
}

/**
 * Splits a list into batches of at most `maxItems` items and `maxSize` characters. An item that is larger than
 * `maxSize` is in a batch of its own.
 */
export function batches<Item>(
  items: readonly Item[],
  maxItems: number,
  maxSize: number,
  sizeOf: (item: Item) => number,
): readonly (readonly Item[])[] {
  const all: Item[][] = [];
  let size = 0;
  for (const item of items) {
    const last = all.at(-1);
    const own = sizeOf(item);
    if (last === undefined || last.length >= maxItems || size + own > maxSize) {
      all.push([item]);
      size = own;
    } else {
      last.push(item);
      size += own;
    }
  }
  return all;
}
