import { Payload } from "@svc-runtime/protocol";
import { z } from "zod";
import { hasExactNumbers } from "./exact-json.ts";
import type { UpdateOp } from "./update-op.ts";

/** Maximum number of operations in an update. */
export const MAX_UPDATE_OPS = 1_000;

const path = z.union([z.string(), z.array(z.string()).readonly()]).meta({
  description:
    'One literal member of the root ("" is the root itself), or an array with one member name per level ([] is the root).',
});
/** Optional, because published clients send null as the path of merge and append if their caller gives none. */
const pathOrRoot = path.nullish().transform((given) => given ?? "");
const anyValue = z.unknown().optional();
const by = z.int().meta({ description: "An integer that a JSON number holds exactly." });

const updateOpSchema = z.discriminatedUnion("type", [
  z
    .strictObject({ type: z.literal("set"), path, value: anyValue.transform(orNull) })
    .meta({ description: "Replaces a member or the root; without `value` by null." }),
  z
    .strictObject({ type: z.literal("merge"), path: pathOrRoot, value: anyValue.transform(orNull) })
    .meta({ description: "Merges an object's members into the object at the path." }),
  z
    .strictObject({ type: z.literal("increment"), path, by })
    .meta({ description: "Adds to a number; a missing one counts as 0." }),
  z
    .strictObject({ type: z.literal("decrement"), path, by })
    .meta({ description: "Subtracts from a number; a missing one counts as 0." }),
  z
    .strictObject({ type: z.literal("append"), path: pathOrRoot, value: anyValue.transform(orNull) })
    .meta({ description: "Adds one element to an array or text to a string." }),
  z.strictObject({ type: z.literal("remove"), path }).meta({ description: "Deletes a member; the root becomes null." }),
]);

/** Unparsed members of functions with `ops` (`FunctionSpec.rawMembers`), so that numbers keep their digits. */
export const RAW_OP_MEMBERS = ["ops[].value"] as const;

/**
 * Schema of the `ops` of `state::update` and `stream::update`. `applyOps` reports errors that depend on the stored
 * value.
 */
export const updateOpsSchema: z.ZodType<readonly UpdateOp[]> = z
  .array(updateOpSchema.transform(withReadValue))
  .min(1)
  .max(MAX_UPDATE_OPS);

/** Parses the operation's value. Adds the value's JSON if parsing loses digits. */
function withReadValue(op: z.output<typeof updateOpSchema>): UpdateOp {
  if (!("value" in op) || !(op.value instanceof Payload)) return op;
  const json = op.value.text();
  const value: unknown = JSON.parse(json);
  return hasExactNumbers(json) ? { ...op, value, json } : { ...op, value };
}

function orNull(value: unknown): unknown {
  return value === undefined ? null : value;
}
