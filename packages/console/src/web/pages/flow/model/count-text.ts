import { t } from "../../../labels/translate.ts";
import { atLeast } from "../../../lib/at-least.ts";
import type { GraphEdge } from "../../../model/flow-graph.ts";

/** Describes counts of an edge. If only some traces were read, they are lower bounds, for example `≥14×, ≥1 failed`. */
export function countText({ calls, errors }: Pick<GraphEdge, "calls" | "errors">, isSample: boolean): string {
  return `${atLeast(calls, isSample)}×${errors > 0 ? t`, ${atLeast(errors, isSample)} failed` : ""}`;
}
