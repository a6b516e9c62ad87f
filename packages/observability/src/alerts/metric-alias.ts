export interface Metric {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
}

/** Metric names that the specification defines, and our metrics for them. */
const ALIASES: ReadonlyMap<string, Metric> = new Map([
  ["invocations.total", { name: "svc.calls", labels: {} }],
  ["invocations.success", { name: "svc.calls", labels: { outcome: "ok" } }],
  ["invocations.error", { name: "svc.calls.errors", labels: {} }],
  ["invocations.deferred", { name: "svc.calls.deferred", labels: {} }],
  ["workers.spawns", { name: "svc.workers.spawns", labels: {} }],
  ["workers.deaths", { name: "svc.workers.deaths", labels: {} }],
  ["workers.active", { name: "svc.workers", labels: {} }],
]);

export function metricOf(metric: string, labels: Readonly<Record<string, string>>): Metric {
  const alias = /^(?:iii|svc)\./.test(metric) ? ALIASES.get(metric.slice(4)) : undefined;
  return alias === undefined ? { name: metric, labels } : { name: alias.name, labels: { ...labels, ...alias.labels } };
}
