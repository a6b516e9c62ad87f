// This module runs in the store thread, so it must not import the rest of the engine.
import type { UpdateOp, UpdatePath } from "./update-op.ts";

export const MAX_PATH_DEPTH = 32;
export const MAX_SEGMENT_BYTES = 256;

const prototypeNames = new Set(["__proto__", "constructor", "prototype"]);

/** True for names that could change an object's prototype if they were assigned to as members. */
export function isPrototypeName(name: string): boolean {
  return prototypeNames.has(name);
}

/** Returns the member names from the root on; empty for the root itself. */
export function segmentsOf(path: UpdatePath): readonly string[] {
  if (typeof path === "string") return path === "" ? [] : [path];
  return path;
}

/** Returns a path for messages: `root`, or the segments joined by dots. */
export function printPath(segments: readonly string[]): string {
  return segments.length === 0 ? "root" : segments.join(".");
}

/** Returns the reason why a path cannot be used, or undefined if it can. */
export function pathProblem(
  type: UpdateOp["type"],
  segments: readonly string[],
): { readonly code: string; readonly message: string } | undefined {
  if (segments.length > MAX_PATH_DEPTH)
    return {
      code: `${type}.path.too_deep`,
      message: `Path depth ${segments.length} exceeds maximum of ${MAX_PATH_DEPTH}`,
    };
  for (const segment of segments) {
    if (segment === "") return { code: `${type}.path.empty_segment`, message: "Path contains an empty segment" };
    const bytes = Buffer.byteLength(segment);
    if (bytes > MAX_SEGMENT_BYTES)
      return {
        code: `${type}.path.segment_too_long`,
        message: `Path segment of ${bytes} bytes exceeds maximum of ${MAX_SEGMENT_BYTES}`,
      };
    if (isPrototypeName(segment))
      return {
        code: `${type}.path.proto_polluted`,
        message: `Path segment '${segment}' is not allowed (prototype pollution).`,
      };
  }
  return undefined;
}
