import { CallError, MAX_DEPTH } from "@svc-runtime/protocol";
import type { UpdateOp } from "./update-op.ts";
import { segmentsOf } from "./update-path.ts";

/** Throws `invalid_input` for an operation whose value would exceed the maximum nesting depth of a stored value. */
export function refuseDeepUpdate(ops: readonly UpdateOp[]): void {
  for (const [index, op] of ops.entries()) {
    if (!("value" in op)) continue;
    // An appended element is one level deeper than its array.
    const above = segmentsOf(op.path).length + (op.type === "append" ? 1 : 0);
    if (above + depthOf(op.value) <= MAX_DEPTH) continue;
    const message = `\`ops.${index}.value\`: would be nested deeper than ${MAX_DEPTH} levels`;
    throw new CallError("invalid_input", message, { details: { limit: MAX_DEPTH } });
  }
}

/**
 * Returns the nesting depth of a value. Recursion is safe here, because a payload is nested at most 128 levels deep.
 */
function depthOf(value: unknown): number {
  if (typeof value !== "object" || value === null) return 0;
  let deepest = 0;
  for (const member of Object.values(value)) deepest = Math.max(deepest, depthOf(member));
  return deepest + 1;
}
