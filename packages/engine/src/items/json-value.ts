// This module runs in the store thread, so it must not import the rest of the engine.
import { ExactNumber, parseExact, stringifyExact } from "./exact-json.ts";

/** A parsed JSON object. */
export interface JsonObject {
  [name: string]: unknown;
}

export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value) && !(value instanceof ExactNumber);
}

/** Returns `null`, `boolean`, `number`, `string`, `array` or `object`. */
export function typeName(value: unknown): string {
  if (value === null || value === undefined) return "null";
  if (Array.isArray(value)) return "array";
  if (value instanceof ExactNumber) return "number";
  return typeof value;
}

/** True if both values have the same JSON. */
export function sameValue(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return false;
  return Array.isArray(a) === Array.isArray(b) && stringifyExact(a) === stringifyExact(b);
}

/** Returns a deep copy, so that later operations on the document do not change the operation's own value. */
export function copyOf(value: unknown): unknown {
  if (value === undefined) return null;
  return typeof value === "object" && value !== null ? parseExact(stringifyExact(value)) : value;
}

/**
 * Returns the nesting depth of arrays and objects; 0 for other values. Not recursive, because a deeply nested value
 * would overflow the stack.
 */
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
  return typeof value === "object" && value !== null;
}
