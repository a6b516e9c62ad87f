// This module runs in the store thread, so it must not import the rest of the engine.
import { depthOf, isObject } from "./json-value.ts";
import { isPrototypeName } from "./update-path.ts";

export const MAX_MERGE_KEYS = 1024;
export const MAX_MERGE_DEPTH = 16;

/** Returns the reason why a value cannot be merged into an object, or undefined if it can. */
export function mergeProblem(value: unknown): { readonly code: string; readonly message: string } | undefined {
  if (!isObject(value)) return { code: "merge.value.not_an_object", message: "Merge value must be a JSON object" };
  const keys = Object.keys(value);
  if (keys.length > MAX_MERGE_KEYS)
    return {
      code: "merge.value.too_many_keys",
      message: `Merge value has ${keys.length} top-level keys, exceeds maximum of ${MAX_MERGE_KEYS}`,
    };
  const depth = depthOf(value);
  if (depth > MAX_MERGE_DEPTH)
    return {
      code: "merge.value.too_deep",
      message: `Merge value JSON nesting depth ${depth} exceeds maximum of ${MAX_MERGE_DEPTH}`,
    };
  const polluting = keys.find(isPrototypeName);
  if (polluting !== undefined)
    return {
      code: "merge.value.proto_polluted",
      message: `Merge value top-level key "${polluting}" is a prototype-pollution sink`,
    };
  return undefined;
}
