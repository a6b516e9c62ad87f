import { memberTexts } from "@svc/protocol/json-text";
import { formatJson, parseJson } from "../../lib/json.ts";
import { isSameJson, jsonProblem } from "../../lib/json-text.ts";
import { maskProblem } from "../../lib/mask-problem.ts";
import { maskedJson } from "../../lib/secrets.ts";
import { type Entry, nameProblem } from "./model.ts";

/** One item of a file, as `state::export` and this page write it. */
export interface Line {
  readonly number: number;
  readonly scope: string;
  readonly key: string;
  readonly json: string;
  readonly expiresAtMs: number | undefined;
}

export interface BadLine {
  readonly number: number;
  readonly problem: string;
}

/** An item as a line of a file. */
export function lineOf(scope: string, { key, json, version, updatedAtMs, expiresAtMs }: Entry): string {
  const end = expiresAtMs === undefined ? "" : `,"expires_at":"${new Date(expiresAtMs).toISOString()}"`;
  return `{"scope":${JSON.stringify(scope)},"key":${JSON.stringify(key)},"value":${json},"version":${version},"updated_at":"${new Date(updatedAtMs).toISOString()}"${end}}`;
}

/** The same with the item's secrets masked. It cannot be imported again where there are any. */
export function maskedLineOf(scope: string, entry: Entry): string {
  const json = maskedJson(entry.key, entry.json);
  return lineOf(scope, json === entry.json ? entry : { ...entry, json: formatJson(parseJson(json), 0) });
}

/** Reads a file of lines; empty ones do not count. Of two lines about one item the later stands, as if stored one after the other. */
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
    if (typeof value !== "string") throw new SyntaxError(`\`${member}\` is missing, or is no text`);
    const refused = nameProblem(value);
    if (refused !== undefined) throw new SyntaxError(`\`${member}\` ${refused}`);
    return value;
  };
  const json = members.get("value");
  if (json === undefined) throw new SyntaxError("`value` is missing");
  const key = name("key");
  const mask = maskProblem(json, undefined, key);
  if (mask !== undefined) throw new SyntaxError(mask);
  const end: unknown = JSON.parse(members.get("expires_at") ?? "null");
  const expiresAtMs = typeof end === "string" ? Date.parse(end) : undefined;
  if (Number.isNaN(expiresAtMs)) throw new SyntaxError("`expires_at` is no time");
  return { number, scope: name("scope"), key, json, expiresAtMs };
}

/** What storing a line would come to. `expired`: its end has passed, it is left out. */
export interface PlannedLine {
  readonly line: Line;
  readonly effect: "new" | "changed" | "same" | "expired";
  /** What is there now; 0: nothing. */
  readonly version: number;
}

/** A file against what is there. */
export interface ImportPlan {
  readonly file: string;
  readonly planned: readonly PlannedLine[];
  readonly bad: readonly BadLine[];
}

export function planLine(line: Line, there: Entry | null, nowMs: number): PlannedLine {
  if (line.expiresAtMs !== undefined && line.expiresAtMs <= nowMs) return { line, effect: "expired", version: there?.version ?? 0 };
  if (there === null) return { line, effect: "new", version: 0 };
  const isSame = isSameJson(line.json, there.json) && line.expiresAtMs === there.expiresAtMs;
  return { line, effect: isSame ? "same" : "changed", version: there.version };
}

/** Parts of a list, each with at most so many items and so many characters. */
export function batches<Item>(items: readonly Item[], most: number, mostSize: number, sizeOf: (item: Item) => number): readonly (readonly Item[])[] {
  const all: Item[][] = [];
  let size = 0;
  for (const item of items) {
    const last = all.at(-1);
    const own = sizeOf(item);
    if (last === undefined || last.length >= most || size + own > mostSize) {
      all.push([item]);
      size = own;
    } else {
      last.push(item);
      size += own;
    }
  }
  return all;
}
