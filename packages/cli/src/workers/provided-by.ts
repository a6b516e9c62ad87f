import { findBuiltIn } from "./built-in-workers.ts";
import type { WorkerReport } from "./worker-functions.ts";

/** Maximum number of ids that are all listed. If there are more, the first ones and the number are shown. */
const MAX_IDS = 5;

/**
 * Describes what a worker provides, e.g. `math::add (1 function)`. If there are many ids, shows their number and the
 * first ones. The text has no trailing newline.
 */
export function providedBy({
  name,
  functions,
  trigger_types,
}: Pick<WorkerReport, "name" | "functions" | "trigger_types">): string {
  const kinds = [
    { ids: functions, noun: "function" },
    { ids: trigger_types, noun: "trigger type" },
  ].filter(({ ids }) => ids.length > 0);
  if (kinds.length === 0) return name;
  const number = (ids: readonly string[], noun: string): string =>
    `${ids.length} ${noun}${ids.length === 1 ? "" : "s"}`;
  if (functions.length + trigger_types.length <= MAX_IDS)
    return kinds.map(({ ids, noun }) => `${ids.join(", ")} (${number(ids, noun)})`).join(", ");
  const few = firstFew(name, functions);
  const examples = few.length === 0 ? "" : `, e.g. ${few.join(", ")}`;
  const rest = functions.length > few.length ? `\n  List all: svc functions --worker ${name}` : "";
  return `${name}, ${kinds.map(({ ids, noun }) => number(ids, noun)).join(", ")}${examples}${rest}`;
}

/** Returns the first ids. For a built-in worker, prefers ids with the worker's own prefix, e.g. queue::list. */
function firstFew(name: string, ids: readonly string[]): readonly string[] {
  const prefix = findBuiltIn(name) === undefined ? "" : `${name.replace(/^svc-/, "")}::`;
  const own = ids.filter((id) => id.startsWith(prefix));
  return (own.length === 0 ? ids : own).slice(0, MAX_IDS);
}
