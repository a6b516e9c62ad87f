// This module runs in the store thread, so it must not import the rest of the engine. It validates only problems that
// are reported as errors of operations. update-schema.ts rejects other invalid operations.
import { parseExact, stringifyExact } from "./exact-json.ts";
import { copyOf, isObject, type JsonObject, sameValue, typeName } from "./json-value.ts";
import { mergeProblem } from "./merge-value.ts";
import { addInteger } from "./number-sum.ts";
import type { OpValue, UpdateOp, UpdateOpError } from "./update-op.ts";
import { pathProblem, printPath, segmentsOf } from "./update-path.ts";

export interface AppliedOps {
  /**
   * JSON after the operations, or the unchanged input text if nothing changed. Undefined if there was no item and none
   * was created.
   */
  readonly json: string | undefined;
  /** Operations that failed. */
  readonly errors: readonly UpdateOpError[];
}

/**
 * Applies operations in order to an item's JSON. If `json` is undefined, the item starts as `{}`, or as a missing value
 * for an operation on the root. If an operation fails and `atomic` is true, nothing changes; otherwise the other
 * operations are applied. All failures are reported.
 *
 * Numbers keep all digits, also beyond 2^53. Sums of integers are exact from -2^63 to 2^63-1.
 */
export function applyOps(
  json: string | undefined,
  ops: readonly UpdateOp[],
  options: { readonly atomic: boolean },
): AppliedOps {
  const document: JsonDocument = { root: json === undefined ? undefined : parseExact(json), changed: false };
  const errors: UpdateOpError[] = [];
  ops.forEach((op, op_index) => {
    const problem = applyOp(document, op);
    if (problem !== undefined) errors.push({ op_index, ...problem });
  });
  if (!document.changed || document.root === undefined || (options.atomic && errors.length > 0))
    return { json, errors };
  return { json: stringifyExact(document.root), errors };
}

interface JsonDocument {
  /** Undefined if there is no item. */
  root: unknown;
  changed: boolean;
}

/** A place in the document whose value an operation reads and replaces. */
interface Place {
  /** Undefined if the value is missing. */
  readonly value: unknown;
  put(value: unknown): void;
}

type Problem = Pick<UpdateOpError, "code" | "message">;

function applyOp(document: JsonDocument, op: UpdateOp): Problem | undefined {
  const segments = segmentsOf(op.path);
  const problem = pathProblem(op.type, segments);
  if (problem !== undefined) return problem;
  switch (op.type) {
    case "set": {
      const value = carriedValue(op);
      return change(document, op, segments, (old) =>
        old !== undefined && sameValue(old, value) ? "done" : { value: copyOf(value) },
      );
    }
    case "increment":
      return change(document, op, segments, (old) => sum(op.type, segments, old, op.by));
    case "decrement":
      return change(document, op, segments, (old) => sum(op.type, segments, old, -op.by));
    case "append":
      return change(document, op, segments, (old) => append(document, segments, old, carriedValue(op)));
    case "remove":
      return remove(document, segments);
    case "merge":
      return mergeProblem(op.value) ?? merge(document, segments, carriedValue(op) as JsonObject);
  }
}

/** Returns the operation's value with all digits of its numbers. */
function carriedValue({ value, json }: OpValue): unknown {
  return json === undefined ? value : parseExact(json);
}

/** Result of an operation: a new value, a problem, or `done` if no value must be replaced. */
type Next = { readonly value: unknown } | "done" | Problem;

/**
 * Replaces a value with the result of `next`. Creates missing objects on the path, but only if the operation succeeds.
 */
function change(
  document: JsonDocument,
  op: UpdateOp,
  segments: readonly string[],
  next: (old: unknown) => Next,
): Problem | undefined {
  const place = placeAt(document, segments);
  if ("blockedBy" in place) return notObject(op.type, segments, place.blockedBy);
  const result = next(place.value);
  if (result === "done") return undefined;
  if ("code" in result) return result;
  if (place.value === undefined || !sameValue(place.value, result.value)) place.put(result.value);
  return undefined;
}

function placeAt(document: JsonDocument, segments: readonly string[]): Place | { readonly blockedBy: unknown } {
  const last = segments[segments.length - 1];
  if (last === undefined) return { value: document.root, put: (value) => replaceRoot(document, value) };
  let parent: unknown = document.root;
  for (const segment of segments.slice(0, -1)) {
    if (parent === undefined) break;
    if (!isObject(parent)) return { blockedBy: parent };
    parent = memberOf(parent, segment);
  }
  if (parent !== undefined && !isObject(parent)) return { blockedBy: parent };
  return {
    value: parent === undefined ? undefined : memberOf(parent, last),
    put: (value) => {
      objectAt(document, segments.slice(0, -1))[last] = value;
      document.changed = true;
    },
  };
}

/**
 * Returns the object at a path. Creates it and its parents if they are missing. Replaces values on the path that are
 * not objects.
 */
function objectAt(document: JsonDocument, segments: readonly string[]): JsonObject {
  if (!isObject(document.root)) replaceRoot(document, {});
  let object = document.root as JsonObject;
  for (const segment of segments) {
    const member = memberOf(object, segment);
    if (isObject(member)) {
      object = member;
    } else {
      const made: JsonObject = {};
      object[segment] = made;
      document.changed = true;
      object = made;
    }
  }
  return object;
}

function sum(type: "increment" | "decrement", segments: readonly string[], old: unknown, by: number): Next {
  const value = old === undefined ? by + 0 : addInteger(old, by);
  if (value === undefined)
    return {
      code: `${type}.not_number`,
      message: `Expected number at path '${printPath(segments)}', got ${typeName(old)}.`,
    };
  return { value };
}

function append(document: JsonDocument, segments: readonly string[], old: unknown, value: unknown): Next {
  if (Array.isArray(old)) {
    old.push(copyOf(value));
    document.changed = true;
    return "done";
  }
  if (typeof old === "string") {
    if (typeof value === "string") return { value: old + value };
    return {
      code: "append.type_mismatch",
      message: `Expected string append value at path '${printPath(segments)}', got ${typeName(value)}.`,
    };
  }
  if (old === undefined || old === null) {
    const text = typeof value === "string" && (old === null || segments.length <= 1);
    return { value: text ? value : [copyOf(value)] };
  }
  const message = `Cannot append at path '${printPath(segments)}': target is ${typeName(old)}, expected array, string, null, or missing field.`;
  return { code: "append.type_mismatch", message };
}

function remove(document: JsonDocument, segments: readonly string[]): Problem | undefined {
  const last = segments[segments.length - 1];
  if (last === undefined) {
    if (document.root !== null) replaceRoot(document, null);
    return undefined;
  }
  let parent: unknown = document.root;
  for (const segment of segments.slice(0, -1)) {
    if (!isObject(parent)) break;
    parent = memberOf(parent, segment);
  }
  if (parent === undefined) return undefined;
  if (!isObject(parent)) return notObject("remove", segments, parent);
  if (!Object.hasOwn(parent, last)) return undefined;
  delete parent[last];
  document.changed = true;
  return undefined;
}

function merge(document: JsonDocument, segments: readonly string[], members: JsonObject): Problem | undefined {
  if (document.root !== undefined && !isObject(document.root)) return notObject("merge", [], document.root);
  const object = objectAt(document, segments);
  for (const [key, value] of Object.entries(members)) {
    if (Object.hasOwn(object, key) && sameValue(object[key], value)) continue;
    object[key] = copyOf(value);
    document.changed = true;
  }
  return undefined;
}

function notObject(type: UpdateOp["type"], segments: readonly string[], target: unknown): Problem {
  return {
    code: `${type}.target_not_object`,
    message: `Cannot ${type} at path '${printPath(segments)}': target is ${typeName(target)}, expected object.`,
  };
}

function replaceRoot(document: JsonDocument, root: unknown): void {
  document.root = root;
  document.changed = true;
}

function memberOf(object: JsonObject, name: string): unknown {
  return Object.hasOwn(object, name) ? object[name] : undefined;
}
