import { camelCase } from "./case.ts";
import { deprecated } from "./deprecation.ts";

/**
 * Members of a result whose values are objects or lists of the engine too. The values of all other members stay
 * unchanged: they may be a user's.
 */
export interface ResultShape {
  readonly [member: string]: ResultShape;
}

/** Names under which earlier releases returned the members. */
const OLD_NAMES = [
  "created_at",
  "dedupe_key",
  "expires_at",
  "failed_at",
  "finished_at",
  "function_id",
  "job_id",
  "last_published_at",
  "last_run",
  "made_by",
  "max_attempts",
  "new_value",
  "next_runs",
  "old_value",
  "op_index",
  "item_id",
  "passed_over",
  "run_at",
  "scheduled_time",
  "started_at",
  "trace_id",
  "trigger_id",
  "trigger_type",
  "updated_at",
  "worker_id",
] as const;

/** Prototype of all results: its getters return the members under their old names. They are not enumerable. */
const resultPrototype: object = /* @__PURE__ */ createPrototype();

function createPrototype(): object {
  const prototype = {};
  for (const old of OLD_NAMES) {
    const name = camelCase(old);
    Object.defineProperty(prototype, old, {
      get(this: Readonly<Record<string, unknown>>) {
        deprecated(`the member ${old} of results`, name);
        return this[name];
      },
    });
  }
  return prototype;
}

/** Returns a result of the engine with its members in camelCase. Lists are converted item by item. */
export function engineResult(wire: unknown, shape: ResultShape = {}): unknown {
  if (Array.isArray(wire)) return wire.map((item) => engineResult(item, shape));
  if (typeof wire !== "object" || wire === null) return wire;
  const result = Object.create(resultPrototype) as Record<string, unknown>;
  for (const [member, value] of Object.entries(wire)) {
    const nested = Object.hasOwn(shape, member) ? shape[member] : undefined;
    result[camelCase(member)] = nested === undefined ? value : engineResult(value, nested);
  }
  return result;
}
