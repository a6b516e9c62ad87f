import type { GoneWorker, Worker } from "../../lib/worker-history.ts";

/** How a worker of the config file is, as `worker::list` tells. */
export interface ConfiguredWorker {
  readonly name: string;
  readonly kind: string;
  readonly state: string;
  readonly reason: string | null;
  /** Why its last change is not used, while its former processes run on. Engines before this version do not tell it. */
  readonly problem?: string | null;
  readonly pids: readonly number[];
  readonly restarts: number;
  readonly ready_at: string | null;
  /** Engines before this version do not tell it. */
  readonly next_start_at?: string | null;
  readonly last_exit?: LastExit | null;
  readonly log_file: string | null;
  readonly tail: readonly string[];
}

/** The last time that a process of it ended unasked. */
interface LastExit {
  readonly code: number | null;
  readonly signal: string | null;
  readonly at: string;
  readonly lines: readonly string[];
}

/** What the stream `svc.local_workers` tells of a worker or command, at once. */
export type Standing = Pick<ConfiguredWorker, "name" | "kind" | "state" | "reason" | "problem" | "restarts" | "ready_at" | "next_start_at" | "last_exit">;

/** How those of the config file are: as they were when they were asked for, and in that as the stream has told since. */
export function configuredNow(asked: readonly ConfiguredWorker[], standings: readonly Standing[] | undefined): readonly ConfiguredWorker[] {
  if (standings === undefined) return asked;
  const details = new Map(asked.map((each) => [each.name, each]));
  const modules = asked.filter(({ kind }) => kind === "module");
  return [...standings.map((standing) => ({ pids: [], log_file: null, tail: [], ...details.get(standing.name), ...standing })), ...modules];
}

/** E.g. `crash looping`. */
export function stateText(state: string): string {
  return state.replace("_", " ");
}

/** What `engine::metrics::workers` tells of one. */
export interface WorkerFigures {
  readonly worker_id: string;
  readonly cpu_percent: number | null;
  readonly rss_bytes: number | null;
  readonly heap_used_bytes: number | null;
  readonly event_loop_lag_ms: number | null;
  readonly in_flight: number;
  readonly uptime_seconds: number | null;
  readonly source: "sdk" | "process" | null;
  readonly as_of: number;
}

/** When the process of a worker began, by its last sample; never after the worker connected, which rounding and clocks that differ would make of it. */
export function processStartMs({ uptime_seconds, as_of }: Pick<WorkerFigures, "uptime_seconds" | "as_of">, connectedAtMs: number): number | undefined {
  return uptime_seconds === null ? undefined : Math.min(as_of - uptime_seconds * 1_000, connectedAtMs);
}

/** `down`: of the config file and not connected, as commands never are. */
export type RowStatus = "connected" | "module" | "gone" | "down";

export interface WorkerRow {
  readonly id: string;
  readonly name: string;
  readonly status: RowStatus;
  /** Of one that is down, or connected and yet not ready: its state, e.g. `crash_looping`. */
  readonly state: string | undefined;
  /** Undefined of one that is down. */
  readonly worker: Worker | undefined;
  readonly goneAtMs: number | undefined;
  readonly figures: WorkerFigures | undefined;
  readonly configured: ConfiguredWorker | undefined;
  /** How many connected ones share the name. */
  readonly instances: number;
  /** The other connected workers of the same process: its CPU and memory are theirs, too. */
  readonly processMates: readonly Worker[];
}

/** Who went stays this long. */
const GONE_SHOWN_MS = 600_000;

export interface RowSources {
  readonly workers: readonly Worker[];
  readonly gone: readonly GoneWorker[];
  readonly configured: readonly ConfiguredWorker[];
  readonly figures: readonly WorkerFigures[];
  readonly nowMs: number;
}

/** One row for each worker that is there, went lately, or should be there. */
export function rowsOf({ workers, gone, configured, figures, nowMs }: RowSources): readonly WorkerRow[] {
  const figuresById = new Map(figures.map((each) => [each.worker_id, each]));
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
      figures: status === "gone" ? undefined : figuresById.get(worker.id),
      configured: entry,
      instances: count.get(worker.name) ?? 0,
      processMates: status === "connected" ? (byProcess.get(processOf(worker) ?? "") ?? []).filter(({ id }) => id !== worker.id) : [],
    };
  };
  const running = new Set(workers.map(({ configured_worker }) => configured_worker));
  const down = configured.filter(({ name, kind, state }) => !running.has(name) && (kind !== "module" || state === "failed"));
  return [
    ...workers.map((worker) => row(worker, worker.kind === "module" ? "module" : "connected")),
    ...gone.filter(({ goneAtMs }) => nowMs - goneAtMs < GONE_SHOWN_MS).map(({ worker, goneAtMs }) => row(worker, "gone", goneAtMs)),
    ...down.map(
      (each): WorkerRow => ({
        ...{ id: `config:${each.name}`, name: each.name, status: "down", state: each.state, worker: undefined },
        ...{ goneAtMs: undefined, figures: undefined, configured: each, instances: 0, processMates: [] },
      }),
    ),
  ];
}

/** What tells the process of a worker from others; undefined: not known. Modules are in the engine's, of course. */
function processOf({ kind, pid, ip_address, os }: Worker): string | undefined {
  return pid === null || kind === "module" ? undefined : `${pid} ${ip_address} ${os}`;
}

export interface RowFilter {
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
  return [row.name, row.id, worker?.description, worker?.ip_address, String(worker?.pid ?? ""), worker?.configured_worker].some((text) =>
    text?.toLowerCase().includes(q.toLowerCase()),
  );
}

type Sortable = string | number | null | undefined;
const ORDER: Readonly<Record<RowStatus, number>> = { down: 0, gone: 1, connected: 2, module: 3 };

export const SORT_KEYS: Readonly<Record<string, (row: WorkerRow) => Sortable>> = {
  status: ({ status }) => ORDER[status],
  name: ({ name }) => name,
  runtime: ({ worker }) => worker?.runtime,
  version: ({ worker }) => worker?.version,
  isolation: ({ worker }) => worker?.isolation,
  host: ({ worker }) => worker?.ip_address,
  pid: ({ worker }) => worker?.pid,
  functions: ({ worker }) => worker?.function_count,
  in_flight: ({ worker }) => worker?.active_invocations,
  cpu: ({ figures }) => figures?.cpu_percent,
  rss: ({ figures }) => figures?.rss_bytes,
  lag: ({ figures }) => figures?.event_loop_lag_ms,
  since: ({ worker }) => worker?.connected_at_ms,
};

/** What has no value comes last either way; equals by name, so that instances of one name stand together. */
export function sortRows(rows: readonly WorkerRow[], key: string, dir: "asc" | "desc"): readonly WorkerRow[] {
  const valueFor = SORT_KEYS[key] ?? (({ name }: WorkerRow) => name);
  const sign = dir === "asc" ? 1 : -1;
  return [...rows].sort((a, b) => {
    const [left, right] = [valueFor(a), valueFor(b)];
    if (left === right || (left == null && right == null)) return a.name.localeCompare(b.name) || a.id.localeCompare(b.id);
    if (left == null) return 1;
    if (right == null) return -1;
    return sign * (typeof left === "string" && typeof right === "string" ? left.localeCompare(right) : Number(left) - Number(right));
  });
}
