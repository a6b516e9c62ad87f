import { elementTexts, memberTexts } from "@svc-runtime/protocol/json-text";
import { t } from "../../labels/translate.ts";

/** A state item. Its value is the JSON text that the engine sent, so that large numbers keep all digits. */
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
  /** Length of the response, in characters. Large pages are polled less often. */
  readonly size: number;
}

/** Returns true for groups of the console and of other parts of the system. */
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

/** Parses the result of `state::get_entry`. */
export function readEntryOrNull(text: string): Entry | null {
  return text.trim() === "null" ? null : readEntry(text);
}

/** Parses the result of `state::entries`. */
export function readItemPage(text: string): ItemPage {
  const members = memberTexts(text);
  return {
    items: elementTexts(members.get("items") ?? "[]").map(readEntry),
    cursor: JSON.parse(members.get("cursor") ?? "null") as string | null,
    total: JSON.parse(members.get("total") ?? "0") as number,
    size: text.length,
  };
}

/** Parses the result of `state::get_many`, which has an entry or null for each key. */
export function readEntries(text: string): readonly (Entry | null)[] {
  return elementTexts(memberTexts(text).get("items") ?? "[]").map(readEntryOrNull);
}

/** The edited text, and the item from which the edit started (null for a new item). */
export interface Draft {
  readonly base: Entry | null;
  readonly text: string;
}

type ValueType = "object" | "array" | "string" | "number" | "boolean" | "null";

export function typeOfJson(json: string): ValueType {
  const first = json.trimStart()[0];
  if (first === "{") return "object";
  if (first === "[") return "array";
  if (first === '"') return "string";
  if (first === "t" || first === "f") return "boolean";
  return first === "n" ? "null" : "number";
}

/** Returns why the engine rejects the name of a scope or a key. Returns undefined if it is valid. */
export function nameProblem(name: string): string | undefined {
  if (name === "") return t`must not be empty`;
  if (name === "__proto__") return t`cannot be __proto__`;
  if (/\p{Surrogate}/u.test(name)) return t`contains an unpaired surrogate`;
  return new TextEncoder().encode(name).length > 1024 ? t`is longer than 1,024 bytes` : undefined;
}
