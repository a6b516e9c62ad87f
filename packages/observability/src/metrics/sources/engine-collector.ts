import { readdir } from "node:fs/promises";
import type { Directory } from "@svc-runtime/engine/module";
import type { DropCounts } from "../../drop-counts.ts";
import type { EventLoopLag } from "../../event-loop-lag.ts";
import {
  ENGINE_CONNECTIONS,
  ENGINE_CPU,
  ENGINE_FDS,
  ENGINE_HEAP,
  ENGINE_LAG,
  ENGINE_RSS,
  ENGINE_UPTIME,
  FUNCTIONS,
  MODULE_IN_FLIGHT,
  STREAMS,
  TELEMETRY_DROPPED,
  TELEMETRY_SERIES,
  TRIGGERS,
  WORKER_IN_FLIGHT,
  WORKERS,
} from "../builtin-metrics.ts";
import type { SeriesStore } from "../series-store.ts";

/** File descriptors are counted every 12 samples, i.e. every minute. */
const SAMPLES_PER_COUNT = 12;

interface Parts {
  readonly store: SeriesStore;
  readonly directory: Directory;
  readonly lag: Pick<EventLoopLag, "takeWorst">;
  readonly drops: Pick<DropCounts, "entries">;
}

/** Samples the engine's process, its connections and modules, and the counts of dropped telemetry. */
export class EngineCollector {
  readonly #parts: Parts;
  readonly #dropped = new Map<string, number>();
  #cpu = process.cpuUsage();
  #cpuAt = performance.now();
  #samples = 0;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  sample(at: number): void {
    this.#process(at);
    this.#directory(at);
    this.#telemetry(at);
    if (this.#samples++ % SAMPLES_PER_COUNT === 0 && process.platform === "linux") {
      readdir("/proc/self/fd").then(
        (names) => this.#set(ENGINE_FDS, at, names.length),
        () => {},
      );
    }
  }

  #process(at: number): void {
    const now = performance.now();
    const cpu = process.cpuUsage(this.#cpu);
    const elapsedMs = now - this.#cpuAt;
    this.#cpu = process.cpuUsage();
    this.#cpuAt = now;
    if (elapsedMs > 0) this.#set(ENGINE_CPU, at, (cpu.user + cpu.system) / 10 / elapsedMs);
    this.#set(ENGINE_RSS, at, process.memoryUsage.rss());
    this.#set(ENGINE_HEAP, at, process.memoryUsage().heapUsed);
    this.#set(ENGINE_LAG, at, this.#parts.lag.takeWorst());
    this.#set(ENGINE_UPTIME, at, process.uptime());
  }

  #directory(at: number): void {
    const { store, directory } = this.#parts;
    let connections = 0;
    let workers = 0;
    directory.eachWorker(({ id, name, status, internal, has_run, active_invocations }) => {
      if (status === "available") {
        store.number(MODULE_IN_FLIGHT, { module: name })?.set(at, active_invocations);
        return;
      }
      connections++;
      if (internal) return;
      workers++;
      // Only workers that have run a call get a series. The others are left out, because there may be ten thousand idle
      // connections.
      if (has_run) store.number(WORKER_IN_FLIGHT, { worker_id: id, worker: name })?.set(at, active_invocations);
    });
    this.#set(ENGINE_CONNECTIONS, at, connections);
    this.#set(WORKERS, at, workers);
    const { functions, triggers, streams } = directory.counters();
    this.#set(FUNCTIONS, at, functions);
    this.#set(TRIGGERS, at, triggers);
    this.#set(STREAMS, at, streams);
  }

  #telemetry(at: number): void {
    for (const { signal, reason, count } of this.#parts.drops.entries()) {
      const key = `${signal} ${reason}`;
      const more = count - (this.#dropped.get(key) ?? 0);
      this.#dropped.set(key, count);
      if (more > 0) this.#parts.store.number(TELEMETRY_DROPPED, { signal, reason })?.increase(at, more);
    }
    this.#set(TELEMETRY_SERIES, at, this.#parts.store.size);
  }

  #set(info: typeof ENGINE_CPU, at: number, value: number): void {
    this.#parts.store.number(info, {})?.set(at, value);
  }
}
