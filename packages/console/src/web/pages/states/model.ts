import { elementTexts, memberTexts } from "@svc/protocol/json-text";

/** An item of the state. Its value is JSON text, as the engine has it. */
export interface Entry {
  readonly key: string;
  readonly json: string;
  readonly version: number;
  readonly updatedAtMs: number;
  readonly bytes: number;
  readonly expiresAtMs: number | undefined;
}

export interface ItemPage {
  readonly items: readonly Entry[];
  readonly cursor: string | null;
  readonly total: number;
  /** Of the answer, in characters: how dear it is to ask again. */
  readonly size: number;
}

/** Groups that the console and other parts of the system keep for themselves. */
export function isSystemGroup(scope: string): boolean {
  return scope.startsWith("__");
}

function readEntry(text: string): Entry {
  const members = memberTexts(text);
  const meta = (name: string): unknown => JSON.parse(members.get(name) ?? "null");
  const expiresAt = meta("expires_at");
  return {
    key: meta("key") as string,
    json: members.get("value") ?? "null",
    version: meta("version") as number,
    updatedAtMs: Date.parse(meta("updated_at") as string),
    bytes: meta("bytes") as number,
    expiresAtMs: expiresAt === null ? undefined : Date.parse(expiresAt as string),
  };
}

/** The answer of `state::get_entry`. */
export function readEntryOrNull(text: string): Entry | null {
  return text.trim() === "null" ? null : readEntry(text);
}

/** The answer of `state::entries`. */
export function readItemPage(text: string): ItemPage {
  const members = memberTexts(text);
  return {
    items: elementTexts(members.get("items") ?? "[]").map(readEntry),
    cursor: JSON.parse(members.get("cursor") ?? "null") as string | null,
    total: JSON.parse(members.get("total") ?? "0") as number,
    size: text.length,
  };
}

/** The answer of `state::get_many`: an entry or null for each key. */
export function readEntries(text: string): readonly (Entry | null)[] {
  return elementTexts(memberTexts(text).get("items") ?? "[]").map(readEntryOrNull);
}

/** How many items a page may have. */
export const PAGE_SIZES = [50, 100, 500] as const;

/** What is typed, and the item that it began from; null: there is none. */
export interface Draft {
  readonly base: Entry | null;
  readonly text: string;
}

export type ValueType = "object" | "array" | "string" | "number" | "boolean" | "null";

export function typeOfJson(json: string): ValueType {
  const first = json.trimStart()[0];
  if (first === "{") return "object";
  if (first === "[") return "array";
  if (first === '"') return "string";
  if (first === "t" || first === "f") return "boolean";
  return first === "n" ? "null" : "number";
}

/** What no engine takes as a scope or key; undefined when it is fine. */
export function nameProblem(name: string): string | undefined {
  if (name === "") return "must not be empty";
  if (name === "__proto__") return "cannot be __proto__";
  if (/\p{Surrogate}/u.test(name)) return "holds half of a character";
  return new TextEncoder().encode(name).length > 1024 ? "is longer than 1,024 bytes" : undefined;
}
