import { t } from "../../labels/translate.ts";
import type { GoneWorker, Worker } from "../../lib/worker-history.ts";

/** A worker of the config file, in the form of `worker::list`. */
export interface ConfiguredWorker {
  readonly name: string;
  readonly kind: string;
  readonly state: string;
  readonly reason: string | null;
  /**
   * Reason why the last change of the worker failed; its old processes keep running. Older engines do not report it.
   */
  readonly problem?: string | null;
  readonly pids: readonly number[];
  readonly restarts: number;
  readonly ready_at: string | null;
  /** Time of the next start. Older engines do not report it. */
  readonly next_start_at?: string | null;
  readonly last_exit?: LastExit | null;
  readonly log_file: string | null;
  readonly tail: readonly string[];
}

/** The last unexpected exit of one of the worker's processes. */
interface LastExit {
  readonly code: number | null;
  readonly signal: string | null;
  readonly at: string;
  readonly lines: readonly string[];
}

/** State of a worker or command. The stream `svc.local_workers` reports its changes live. */
export type LocalWorkerState = Pick<
  ConfiguredWorker,
  "name" | "kind" | "state" | "reason" | "problem" | "restarts" | "ready_at" | "next_start_at" | "last_exit"
>;

/**
 * Merges the polled list of configured workers with their live states. Modules have no live state, so theirs is the
 * polled one.
 */
export function withLiveStates(
  polled: readonly ConfiguredWorker[],
  states: readonly LocalWorkerState[] | undefined,
): readonly ConfiguredWorker[] {
  if (states === undefined) return polled;
  const details = new Map(polled.map((each) => [each.name, each]));
  const modules = polled.filter(({ kind }) => kind === "module");
  return [
    ...states.map((state) => ({ pids: [], log_file: null, tail: [], ...details.get(state.name), ...state })),
    ...modules,
  ];
}

const STATE_LABELS: Readonly<Record<string, string>> = {
  active: t`Active`,
  backing_off: t`Backing off`,
  crash_looping: t`Crash looping`,
  error: t`Error`,
  failed: t`Failed`,
  inactive: t`Inactive`,
  installing: t`Installing`,
  ready: t`Ready`,
  replacing: t`Replacing`,
  running: t`Running`,
  starting: t`Starting`,
  stopped: t`Stopped`,
  stopping: t`Stopping`,
};

/**
 * Returns the label for the state of a worker or the status of a trigger, for example `Crash looping` for
 * `crash_looping`.
 */
export function stateText(state: string): string {
  return STATE_LABELS[state] ?? state.charAt(0).toUpperCase() + state.slice(1).replaceAll("_", " ");
}

/** Metrics of a worker, in the form of `engine::metrics::workers`. */
export interface WorkerMetrics {
  readonly worker_id: string;
  readonly cpu_percent: number | null;
  readonly rss_bytes: number | null;
  readonly heap_used_bytes: number | null;
  readonly event_loop_lag_ms: number | null;
  readonly in_flight: number;
  /**
   * Calls that ended in the last 5 minutes, or since the worker connected. Null if there were none. Older engines do
   * not report it.
   */
  readonly calls?: WorkerCallFigures | null;
  readonly uptime_seconds: number | null;
  readonly source: "sdk" | "process" | null;
  readonly as_of: number;
}

interface WorkerCallFigures {
  readonly calls: number;
  readonly errors: number;
  readonly error_rate: number;
  readonly rate_per_second: number;
  readonly p95_ms: number | null;
  readonly window_seconds: number;
}

/**
 * Returns the start time of a worker's process, computed from the last sample. It is at most `connectedAtMs`, because
 * rounding and differences between clocks could make it later than that.
 */
export function processStartMs(
  { uptime_seconds, as_of }: Pick<WorkerMetrics, "uptime_seconds" | "as_of">,
  connectedAtMs: number,
): number | undefined {
  return uptime_seconds === null ? undefined : Math.min(as_of - uptime_seconds * 1_000, connectedAtMs);
}

/**
 * Status of a row. `down` means that the worker is in the config file and is neither connected nor running. `running`
 * means that a command runs; commands never connect.
 */
export type RowStatus = "connected" | "module" | "running" | "gone" | "down";

export interface WorkerRow {
  readonly id: string;
  readonly name: string;
  readonly status: RowStatus;
  /** State of a configured worker that is down, running, or connected but not ready, for example `crash_looping`. */
  readonly state: string | undefined;
  /** Undefined if the worker is down, and for commands. */
  readonly worker: Worker | undefined;
  readonly goneAtMs: number | undefined;
  readonly metrics: WorkerMetrics | undefined;
  readonly configured: ConfiguredWorker | undefined;
  /** Number of connected workers with this name. */
  readonly instances: number;
  /** Other connected workers in the same process, which share its CPU and memory. */
  readonly processPeers: readonly Worker[];
}

/** Time for which a disconnected worker stays in the list, in milliseconds. */
const GONE_SHOWN_MS = 600_000;

interface RowSources {
  readonly workers: readonly Worker[];
  readonly gone: readonly GoneWorker[];
  readonly configured: readonly ConfiguredWorker[];
  readonly metrics: readonly WorkerMetrics[];
  readonly nowMs: number;
}

/**
 * Returns one row for each worker that is connected, or has disconnected recently, or is configured but not connected.
 */
export function rowsOf({ workers, gone, configured, metrics, nowMs }: RowSources): readonly WorkerRow[] {
  const metricsById = new Map(metrics.map((each) => [each.worker_id, each]));
  const configuredByName = new Map(configured.map((each) => [each.name, each]));
  const count = new Map<string, number>();
  for (const { name } of workers) count.set(name, (count.get(name) ?? 0) + 1);
  const byProcess = new Map<string, Worker[]>();
  for (const worker of workers) {
    const process = processOf(worker);
    if (process !== undefined) byProcess.set(process, [...(byProcess.get(process) ?? []), worker]);
  }
  const row = (worker: Worker, status: RowStatus, goneAtMs?: number): WorkerRow => {
    const entry = configuredByName.get(worker.configured_worker ?? "");
    return {
      ...{ id: worker.id, name: worker.name, status, worker, goneAtMs },
      state: status !== "connected" || entry?.state === "ready" ? undefined : entry?.state,
      metrics: status === "gone" ? undefined : metricsById.get(worker.id),
      configured: entry,
      instances: count.get(worker.name) ?? 0,
      processPeers:
        status === "connected"
          ? (byProcess.get(processOf(worker) ?? "") ?? []).filter(({ id }) => id !== worker.id)
          : [],
    };
  };
  const running = new Set(workers.map(({ configured_worker }) => configured_worker));
  const down = configured.filter(
    ({ name, kind, state }) => !running.has(name) && (kind !== "module" || state === "failed"),
  );
  return [
    ...workers.map((worker) => row(worker, worker.kind === "module" ? "module" : "connected")),
    ...gone
      .filter(({ goneAtMs }) => nowMs - goneAtMs < GONE_SHOWN_MS)
      .map(({ worker, goneAtMs }) => row(worker, "gone", goneAtMs)),
    ...down.map(
      (each): WorkerRow => ({
        ...{ id: `config:${each.name}`, name: each.name, state: each.state, worker: undefined },
        status: each.state === "ready" ? "running" : "down",
        ...{ goneAtMs: undefined, metrics: undefined, configured: each, instances: 0, processPeers: [] },
      }),
    ),
  ];
}

/**
 * Returns a key for the process of a worker. Returns undefined if the process is not known, and for modules, because
 * these run in the engine's process.
 */
function processOf({ kind, pid, ip_address, os }: Worker): string | undefined {
  return pid === null || kind === "module" ? undefined : `${pid} ${ip_address} ${os}`;
}

interface RowFilter {
  readonly q: string;
  readonly runtime: string | undefined;
  readonly status: string | undefined;
  readonly system: boolean;
}

export function matches(row: WorkerRow, { q, runtime, status, system }: RowFilter): boolean {
  if (!system && row.worker?.internal === true) return false;
  if (runtime !== undefined && row.worker?.runtime !== runtime) return false;
  if (status !== undefined && row.status !== status) return false;
  const { worker } = row;
  return [
    row.name,
    row.id,
    worker?.description,
    worker?.ip_address,
    String(worker?.pid ?? ""),
    worker?.configured_worker,
    worker?.node === undefined ? undefined : `node:${worker.node}`,
  ].some((text) => text?.toLowerCase().includes(q.toLowerCase()));
}

type Sortable = string | number | null | undefined;
const ORDER: Readonly<Record<RowStatus, number>> = { down: 0, gone: 1, connected: 2, running: 3, module: 4 };

export const SORT_KEYS: Readonly<Record<string, (row: WorkerRow) => Sortable>> = {
  status: ({ status }) => ORDER[status],
  name: ({ name }) => name,
  runtime: ({ worker }) => worker?.runtime,
  version: ({ worker }) => worker?.version,
  isolation: ({ worker }) => worker?.isolation,
  host: ({ worker }) => worker?.ip_address,
  node: ({ worker }) => worker?.node,
  pid: ({ worker }) => worker?.pid,
  functions: ({ worker }) => worker?.function_count,
  in_flight: ({ worker }) => worker?.active_invocations,
  rate: ({ metrics }) => metrics?.calls?.rate_per_second,
  errors: ({ metrics }) => metrics?.calls?.error_rate,
  p95: ({ metrics }) => metrics?.calls?.p95_ms,
  cpu: ({ metrics }) => metrics?.cpu_percent,
  rss: ({ metrics }) => metrics?.rss_bytes,
  lag: ({ metrics }) => metrics?.event_loop_lag_ms,
  since: ({ worker }) => worker?.connected_at_ms,
};

/**
 * Sorts rows. Rows without a value come last in both directions. Rows with equal values are sorted by name, so that
 * instances of the same worker stay together.
 */
export function sortRows(rows: readonly WorkerRow[], key: string, dir: "asc" | "desc"): readonly WorkerRow[] {
  const valueFor = SORT_KEYS[key] ?? (({ name }: WorkerRow) => name);
  const sign = dir === "asc" ? 1 : -1;
  return [...rows].sort((a, b) => {
    const [left, right] = [valueFor(a), valueFor(b)];
    if (left === right || (left == null && right == null))
      return a.name.localeCompare(b.name) || a.id.localeCompare(b.id);
    if (left == null) return 1;
    if (right == null) return -1;
    return (
      sign *
      (typeof left === "string" && typeof right === "string" ? left.localeCompare(right) : Number(left) - Number(right))
    );
  });
}
