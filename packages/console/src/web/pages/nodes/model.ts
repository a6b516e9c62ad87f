import type { NodeListing } from "@svc-runtime/protocol/listings";
import { plural, t } from "../../labels/translate.ts";

/** Maximum difference between the engines' clocks that is not reported as a problem, in milliseconds. */
const MAX_SKEW_MS = 1_000;

/**
 * Returns the number of log entries (of the cluster's replicated log) that the engine has not applied yet. Returns
 * undefined if it shares no data.
 */
export function behindOf({ report }: NodeListing): number | undefined {
  const stores = report?.stores ?? [];
  return stores.length === 0 ? undefined : stores.reduce((sum, { behind }) => sum + behind, 0);
}

/** Formats the difference between two clocks, for example `+1.5 s`. */
export function clockText(offsetMs: number): string {
  if (offsetMs === 0) return "0 s";
  return `${offsetMs > 0 ? "+" : "-"}${(Math.abs(offsetMs) / 1_000).toFixed(1)} s`;
}

export function isClockApart(offsetMs: number): boolean {
  return Math.abs(offsetMs) > MAX_SKEW_MS;
}

/** Returns the problems of an engine, one sentence each. */
export function problemsOf(node: NodeListing): readonly string[] {
  const { name, reason, report } = node;
  const stores = report?.stores ?? [];
  return [
    ...(reason === null ? [] : [t`${name}: ${reason}`]),
    ...(report?.durability_reason == null ? [] : [t`${name}: durability is relaxed; ${report.durability_reason}`]),
    ...stores.flatMap(({ store, problem }) => (problem === null ? [] : [t`${name}, store ${store}: ${problem}`])),
    ...(report !== null && isClockApart(report.clock_offset_ms)
      ? [t`${name}: its clock is ${clockText(report.clock_offset_ms)} from that of the engine that was asked`]
      : []),
  ];
}

/** Returns the number of entries that each store has not applied yet, as text for a tooltip. */
export function storesText({ report }: NodeListing): string {
  return (report?.stores ?? [])
    .map(({ store, behind }) => plural(behind, "{0}: # entry behind", "{0}: # entries behind", store))
    .join("\n");
}
