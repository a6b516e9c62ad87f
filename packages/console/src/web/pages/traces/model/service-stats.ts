import { endOf, selfTimeMs, type TraceForest } from "../../../model/span-forest.ts";

export interface ServiceStats {
  readonly key: string;
  readonly service: string;
  /** Name of the operation. Undefined if the row is about a whole service. */
  readonly operation: string | undefined;
  readonly count: number;
  readonly errors: number;
  readonly totalMs: number;
  readonly selfMs: number;
  readonly avgMs: number;
  readonly p50Ms: number;
  readonly p95Ms: number;
  readonly p99Ms: number;
}

/** Computes span counts, durations and errors by service, or by service and operation. */
export function serviceStatsOf(
  forest: TraceForest,
  by: "service" | "operation",
  nowMs: number,
): readonly ServiceStats[] {
  const groups = new Map<
    string,
    { service: string; operation: string | undefined; durations: number[]; selfMs: number; errors: number }
  >();
  for (const node of forest.nodes) {
    if (node.span === undefined) continue;
    const operation = by === "operation" ? node.name : undefined;
    const key = JSON.stringify([node.service, operation ?? null]);
    let group = groups.get(key);
    if (group === undefined) {
      group = { service: node.service, operation, durations: [], selfMs: 0, errors: 0 };
      groups.set(key, group);
    }
    group.durations.push(endOf(node, nowMs) - node.startMs);
    group.selfMs += selfTimeMs(node, nowMs);
    if (node.status === "error") group.errors += 1;
  }
  return [...groups].map(([key, { service, operation, durations, selfMs, errors }]) => {
    const sorted = durations.sort((a, b) => a - b);
    const totalMs = sorted.reduce((sum, next) => sum + next, 0);
    const count = sorted.length;
    const at = (quantile: number): number => sorted[Math.max(0, Math.ceil(quantile * count) - 1)] ?? 0;
    return {
      key,
      service,
      operation,
      count,
      errors,
      totalMs,
      selfMs,
      avgMs: totalMs / count,
      p50Ms: at(0.5),
      p95Ms: at(0.95),
      p99Ms: at(0.99),
    };
  });
}
