import { isBigNumber, type JsonValue } from "../../lib/json.ts";

export interface Merged {
  readonly value: JsonValue;
  /** Paths of the values that both sides changed in different ways. At these paths, `value` contains my version. */
  readonly conflicts: readonly string[];
}

type JsonObject = { readonly [name: string]: JsonValue };

/**
 * Three-way merge of two changes to a value. Objects are merged member by member. Arrays and scalars are merged as a
 * whole.
 */
export function mergeJson(base: JsonValue, mine: JsonValue, theirs: JsonValue): Merged {
  const conflicts: string[] = [];
  const value = merge(base, mine, theirs, "$", conflicts);
  return { value: value ?? null, conflicts };
}

/** Merges one member. `undefined` means that the member does not exist. */
function merge(
  base: JsonValue | undefined,
  mine: JsonValue | undefined,
  theirs: JsonValue | undefined,
  path: string,
  conflicts: string[],
): JsonValue | undefined {
  if (isEqual(mine, theirs) || isEqual(base, theirs)) return mine;
  if (isEqual(base, mine)) return theirs;
  if (isObject(mine) && isObject(theirs)) {
    const from = isObject(base) ? base : {};
    const merged: [string, JsonValue][] = [];
    for (const name of new Set([...Object.keys(mine), ...Object.keys(theirs)])) {
      const member = merge(own(from, name), own(mine, name), own(theirs, name), `${path}.${name}`, conflicts);
      if (member !== undefined) merged.push([name, member]);
    }
    return Object.fromEntries(merged);
  }
  conflicts.push(path);
  return mine;
}

function own(object: JsonObject, name: string): JsonValue | undefined {
  return Object.hasOwn(object, name) ? object[name] : undefined;
}

function isObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value) && !isBigNumber(value as JsonValue);
}

function isEqual(one: JsonValue | undefined, other: JsonValue | undefined): boolean {
  if (one === other) return true;
  if (one === undefined || other === undefined) return false;
  if (isBigNumber(one) || isBigNumber(other))
    return isBigNumber(one) && isBigNumber(other) && one.value === other.value;
  if (Array.isArray(one) || Array.isArray(other)) {
    return (
      Array.isArray(one) &&
      Array.isArray(other) &&
      one.length === other.length &&
      one.every((item, at) => isEqual(item, other[at]))
    );
  }
  if (!isObject(one) || !isObject(other)) return false;
  const names = Object.keys(one);
  return (
    names.length === Object.keys(other).length &&
    names.every((name) => Object.hasOwn(other, name) && isEqual(one[name], other[name]))
  );
}
