// Runs in the store thread: no imports of the engine.
import { ExactNumber, parseExact, stringifyExact } from "./exact-json.ts";

/** A JSON object as the parser makes it. */
export interface JsonObject {
  [name: string]: unknown;
}

export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value) && !(value instanceof ExactNumber);
}

/** `null`, `boolean`, `number`, `string`, `array` or `object`. */
export function typeName(value: unknown): string {
  if (value === null || value === undefined) return "null";
  if (Array.isArray(value)) return "array";
  if (value instanceof ExactNumber) return "number";
  return typeof value;
}

/** True when both print the same JSON. */
export function sameValue(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return false;
  return Array.isArray(a) === Array.isArray(b) && stringifyExact(a) === stringifyExact(b);
}

/** A value of its own for the document: what an operation carries is not ours to change. */
export function copyOf(value: unknown): unknown {
  if (value === undefined) return null;
  return typeof value === "object" && value !== null && !(value instanceof ExactNumber) ? parseExact(stringifyExact(value)) : value;
}

/** Levels of arrays and objects within each other; 0 for anything else. Does not recurse, so that no depth is too much for it. */
export function depthOf(value: unknown): number {
  let depth = 0;
  let level = [value].filter(isContainer);
  while (level.length > 0) {
    depth += 1;
    level = level.flatMap((container) => Object.values(container).filter(isContainer));
  }
  return depth;
}

function isContainer(value: unknown): value is object {
  return typeof value === "object" && value !== null && !(value instanceof ExactNumber);
}
