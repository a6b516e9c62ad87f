/** An entry of `engine::logs::*` and of the stream `svc.logs`. */
export interface Log {
  readonly id: string;
  readonly timestamp_ms: number;
  readonly timestamp_unix_nano_text: string;
  readonly severity_number: number;
  readonly severity_text: string;
  readonly body: string;
  readonly attributes: Readonly<Record<string, unknown>>;
  readonly resource: Readonly<Record<string, unknown>>;
  readonly service_name: string;
  readonly trace_id: string | null;
  readonly span_id: string | null;
  readonly instrumentation_scope_name?: string;
  readonly instrumentation_scope_version?: string;
  /** True if the severity number is 21 to 24. The `severity_text` of these entries is ERROR. */
  readonly fatal?: true;
  /** Node of the cluster that stores the entry. */
  readonly node?: string;
}

export const LEVELS = ["TRACE", "DEBUG", "INFO", "WARN", "ERROR"] as const;
export type Level = (typeof LEVELS)[number];

/** For attributes that have two names (that of published clients and that of the engine), the other name. */
const OTHER_NAMES: Readonly<Record<string, string>> = {
  function_id: "svc.function_id",
  invocation_id: "svc.invocation_id",
  worker_id: "svc.worker.id",
  "svc.function_id": "function_id",
  "svc.invocation_id": "invocation_id",
  "svc.worker.id": "worker_id",
};

export function attributeOf(attributes: Readonly<Record<string, unknown>>, key: string): unknown {
  if (Object.hasOwn(attributes, key)) return attributes[key];
  const other = OTHER_NAMES[key];
  return other !== undefined && Object.hasOwn(attributes, other) ? attributes[other] : undefined;
}

/** Returns a value as text: strings unchanged, other values as JSON. */
export function textOfValue(value: unknown): string {
  return typeof value === "string" ? value : (JSON.stringify(value) ?? "");
}

export function functionOf(log: Log): string | undefined {
  const id = attributeOf(log.attributes, "svc.function_id");
  return typeof id === "string" ? id : undefined;
}

export function workerOf(log: Log): string {
  const name = attributeOf(log.attributes, "svc.worker.name");
  return typeof name === "string" ? name : log.service_name;
}

/**
 * Returns true if `a` comes before `b`, by time and then by arrival. In a cluster, ids end with the name of the node.
 */
export function isBefore(a: Pick<Log, "timestamp_ms" | "id">, b: Pick<Log, "timestamp_ms" | "id">): boolean {
  return a.timestamp_ms === b.timestamp_ms
    ? Number.parseInt(a.id, 10) < Number.parseInt(b.id, 10)
    : a.timestamp_ms < b.timestamp_ms;
}
