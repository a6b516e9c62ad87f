import type { Clock } from "../../../../kernel/clock.ts";
import type { Directory, WorkerLoad } from "../../../../kernel/directory.ts";
import type { WorkerMetrics } from "../../../../kernel/telemetry-contract.ts";
import { type ProcessFigures, readProcess } from "../../../../local-workers/process-figures.ts";
import { WORKER_CPU, WORKER_HEAP, WORKER_LAG, WORKER_RSS, WORKER_UPTIME } from "../names.ts";
import type { MetricInfo } from "../series.ts";
import type { SeriesStore } from "../series-store.ts";

/** What was told longer ago says nothing of the present, in milliseconds. */
const FRESH_MS = 120_000;
/** Processes that are looked at in one sample. */
const MAX_PROCESSES = 256;

type Member = Exclude<keyof WorkerMetrics, "timestamp_ms" | "runtime">;

/** Gauges of workers by their names, those of published clients and ours. */
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

/** Members that have a series of our name. */
const SERIES: ReadonlyMap<Member, MetricInfo> = new Map([
  ["memory_heap_used", WORKER_HEAP],
  ["memory_rss", WORKER_RSS],
  ["cpu_percent", WORKER_CPU],
  ["event_loop_lag_ms", WORKER_LAG],
  ["uptime_seconds", WORKER_UPTIME],
]);

export type WorkerSource = "sdk" | "process";

interface Told {
  readonly source: WorkerSource;
  readonly values: Partial<Record<Member, number>>;
  /** In stored time. */
  at: number;
}

interface Parts {
  readonly store: SeriesStore;
  readonly directory: Directory;
  readonly clock: Clock;
  /** Default: `/proc`. */
  readonly readProcess?: (pid: number) => Promise<ProcessFigures | undefined>;
}

/** How the processes of workers do: by what their SDKs tell, and for local ones that the engine started by what the system tells. */
export class WorkerFigures {
  readonly #parts: Parts;
  readonly #told = new Map<string, Told>();
  readonly #processes = new Map<string, { readonly figures: ProcessFigures; readonly atMs: number }>();
  #isReading = false;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  /** Takes a gauge that a worker told. False when it is none of a worker's process. */
  told(name: string, value: number, workerId: string): boolean {
    const member = GAUGES.get(name);
    if (member === undefined) return false;
    const worker = this.#parts.directory.workerById(workerId);
    if (worker === undefined || worker.status !== "connected" || !Number.isFinite(value)) return true;
    this.#take(worker, "sdk", { [member]: value });
    return true;
  }

  /** In the shape of listings; undefined when nothing was told lately. */
  latest(workerId: string): (WorkerMetrics & { readonly source: WorkerSource }) | undefined {
    const { store, directory } = this.#parts;
    const told = this.#told.get(workerId);
    if (told === undefined || store.timeLine.now() - told.at > FRESH_MS) return undefined;
    const runtime = directory.workerById(workerId)?.runtime ?? "unknown";
    return { ...told.values, timestamp_ms: Math.round(store.timeLine.shown(told.at)), runtime, source: told.source };
  }

  /** Looks at the processes that tell nothing by themselves. */
  sample(): void {
    const { directory, store } = this.#parts;
    const now = store.timeLine.now();
    for (const [id, { at }] of this.#told) if (now - at > FRESH_MS) this.#told.delete(id);
    if (this.#isReading || (this.#parts.readProcess === undefined && process.platform !== "linux")) return;
    const silent: WorkerLoad[] = [];
    directory.eachWorker((worker) => {
      if (silent.length < MAX_PROCESSES && isLocal(worker) && this.#told.get(worker.id)?.source !== "sdk") silent.push(worker);
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
    const cpu = isComparable ? { cpu_percent: (100 * (figures.cpuMs - before.figures.cpuMs)) / (atMs - before.atMs) } : {};
    this.#take(worker, "process", { memory_rss: figures.rssBytes, ...cpu });
  }

  #take(worker: Pick<WorkerLoad, "id" | "name">, source: WorkerSource, values: Partial<Record<Member, number>>): void {
    const { store } = this.#parts;
    const at = store.timeLine.now();
    let told = this.#told.get(worker.id);
    if (told?.source !== source) {
      told = { source, values: {}, at };
      this.#told.set(worker.id, told);
    }
    told.at = at;
    for (const [member, value] of Object.entries(values) as [Member, number][]) {
      told.values[member] = value;
      const info = SERIES.get(member);
      if (info !== undefined) store.number(info, { worker_id: worker.id, worker: worker.name })?.set(at, value);
    }
  }
}

/** The engine started it itself, and it is on this machine: its process id is one of ours. */
function isLocal({ configured_worker, pid, ip_address, status }: WorkerLoad): boolean {
  return status === "connected" && configured_worker !== null && pid !== null && ip_address !== null && /^(127\.|::1|\[::1\]|::ffff:127\.)/.test(ip_address);
}
