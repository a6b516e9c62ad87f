import {
  type Clock,
  type Directory,
  type ProcessFigures,
  readProcess,
  type WorkerLoad,
  type WorkerMetrics,
} from "@svc-runtime/engine/module";
import { WORKER_CPU, WORKER_HEAP, WORKER_LAG, WORKER_RSS, WORKER_UPTIME } from "../builtin-metrics.ts";
import type { MetricInfo } from "../series.ts";
import type { SeriesStore } from "../series-store.ts";

/** Maximum age of current values, in milliseconds. */
const FRESH_MS = 120_000;
/** Maximum number of worker processes that are read in one sample. */
const MAX_PROCESSES = 256;

type Member = Exclude<keyof WorkerMetrics, "timestamp_ms" | "runtime">;

/**
 * Members of a worker's metrics by gauge name. There are two names for each: the one of published clients, and ours.
 */
const GAUGES: ReadonlyMap<string, Member> = new Map<string, Member>([
  ["iii.worker.memory.heap_used", "memory_heap_used"],
  ["iii.worker.memory.heap_total", "memory_heap_total"],
  ["iii.worker.memory.rss", "memory_rss"],
  ["iii.worker.memory.external", "memory_external"],
  ["iii.worker.cpu.percent", "cpu_percent"],
  ["iii.worker.cpu.user_micros", "cpu_user_micros"],
  ["iii.worker.cpu.system_micros", "cpu_system_micros"],
  ["iii.worker.event_loop.lag_ms", "event_loop_lag_ms"],
  ["iii.worker.uptime_seconds", "uptime_seconds"],
  [WORKER_HEAP.name, "memory_heap_used"],
  [WORKER_RSS.name, "memory_rss"],
  [WORKER_CPU.name, "cpu_percent"],
  [WORKER_LAG.name, "event_loop_lag_ms"],
  [WORKER_UPTIME.name, "uptime_seconds"],
]);

/** Metrics of the members that get a series, under our names. */
const SERIES: ReadonlyMap<Member, MetricInfo> = new Map([
  ["memory_heap_used", WORKER_HEAP],
  ["memory_rss", WORKER_RSS],
  ["cpu_percent", WORKER_CPU],
  ["event_loop_lag_ms", WORKER_LAG],
  ["uptime_seconds", WORKER_UPTIME],
]);

export type WorkerSource = "sdk" | "process";

interface LatestValues {
  readonly source: WorkerSource;
  readonly values: Partial<Record<Member, number>>;
  /** Time of the values, on the axis of stored time (see `TimeLine`). */
  at: number;
}

interface Parts {
  readonly store: SeriesStore;
  readonly directory: Directory;
  readonly clock: Clock;
  /** Reads the figures of a process. The default reads `/proc`. */
  readonly readProcess?: (pid: number) => Promise<ProcessFigures | undefined>;
}

/**
 * Metrics of worker processes. SDKs send them. For local workers without them, they are read from the operating system.
 */
export class WorkerCollector {
  readonly #parts: Parts;
  readonly #latest = new Map<string, LatestValues>();
  readonly #processes = new Map<string, { readonly figures: ProcessFigures; readonly atMs: number }>();
  #isReading = false;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  /** Takes a gauge that a worker sent. Returns false if it is not a gauge of a worker process. */
  receive(name: string, value: number, workerId: string): boolean {
    const member = GAUGES.get(name);
    if (member === undefined) return false;
    const worker = this.#parts.directory.workerById(workerId);
    if (worker === undefined || worker.status !== "connected" || !Number.isFinite(value)) return true;
    this.#take(worker, "sdk", { [member]: value });
    return true;
  }

  /**
   * Returns the latest values in the form that worker listings use. Returns undefined if there are no current values.
   */
  latest(workerId: string): (WorkerMetrics & { readonly source: WorkerSource }) | undefined {
    const { store, directory } = this.#parts;
    const latest = this.#latest.get(workerId);
    if (latest === undefined || store.timeLine.now() - latest.at > FRESH_MS) return undefined;
    const runtime = directory.workerById(workerId)?.runtime ?? "unknown";
    return {
      ...latest.values,
      timestamp_ms: Math.round(store.timeLine.shown(latest.at)),
      runtime,
      source: latest.source,
    };
  }

  /** Reads the processes of the local workers whose SDK sends no metrics. */
  sample(): void {
    const { directory, store } = this.#parts;
    const now = store.timeLine.now();
    for (const [id, { at }] of this.#latest) if (now - at > FRESH_MS) this.#latest.delete(id);
    if (this.#isReading || (this.#parts.readProcess === undefined && process.platform !== "linux")) return;
    const silent: WorkerLoad[] = [];
    directory.eachWorker((worker) => {
      if (silent.length < MAX_PROCESSES && isLocal(worker) && this.#latest.get(worker.id)?.source !== "sdk")
        silent.push(worker);
    });
    const ids = new Set(silent.map(({ id }) => id));
    for (const id of this.#processes.keys()) if (!ids.has(id)) this.#processes.delete(id);
    if (silent.length === 0) return;
    this.#isReading = true;
    this.#readAll(silent)
      .catch(() => {})
      .finally(() => {
        this.#isReading = false;
      });
  }

  async #readAll(workers: readonly WorkerLoad[]): Promise<void> {
    const read = this.#parts.readProcess ?? readProcess;
    for (const worker of workers) {
      const figures = worker.pid === null ? undefined : await read(worker.pid);
      if (figures !== undefined) this.#takeProcess(worker, figures);
    }
  }

  #takeProcess(worker: WorkerLoad, figures: ProcessFigures): void {
    const atMs = this.#parts.clock.monotonic();
    const before = this.#processes.get(worker.id);
    this.#processes.set(worker.id, { figures, atMs });
    const isComparable = before !== undefined && before.figures.startedAt === figures.startedAt && atMs > before.atMs;
    const cpu = isComparable
      ? { cpu_percent: (100 * (figures.cpuMs - before.figures.cpuMs)) / (atMs - before.atMs) }
      : {};
    this.#take(worker, "process", { memory_rss: figures.rssBytes, ...cpu });
  }

  #take(worker: Pick<WorkerLoad, "id" | "name">, source: WorkerSource, values: Partial<Record<Member, number>>): void {
    const { store } = this.#parts;
    const at = store.timeLine.now();
    let latest = this.#latest.get(worker.id);
    if (latest?.source !== source) {
      latest = { source, values: {}, at };
      this.#latest.set(worker.id, latest);
    }
    latest.at = at;
    for (const [member, value] of Object.entries(values) as [Member, number][]) {
      latest.values[member] = value;
      const info = SERIES.get(member);
      if (info !== undefined) store.number(info, { worker_id: worker.id, worker: worker.name })?.set(at, value);
    }
  }
}

/** Returns true if the engine started the worker on this machine, because only then its process id is valid here. */
function isLocal({ configured_worker, pid, ip_address, status }: WorkerLoad): boolean {
  return (
    status === "connected" &&
    configured_worker !== null &&
    pid !== null &&
    ip_address !== null &&
    /^(127\.|::1|\[::1\]|::ffff:127\.)/.test(ip_address)
  );
}
