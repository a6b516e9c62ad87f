import type { WorkerListing } from "@svc-runtime/protocol/listings";
import { live } from "./live-connection.ts";

/** A worker, in the form of the stream `svc.workers`. */
export type Worker = WorkerListing;

export interface WorkerEvent {
  readonly atMs: number;
  readonly workerId: string;
  readonly name: string;
  readonly what: "connected" | "disconnected" | "registered" | "unregistered";
  /** Ids of the functions that were registered or unregistered. */
  readonly functions: readonly string[];
}

export interface GoneWorker {
  readonly worker: Worker;
  readonly goneAtMs: number;
}

export interface WorkersNow {
  /** False until the first sync. Until then, an empty list does not mean that there are no workers. */
  readonly loaded: boolean;
  readonly workers: readonly Worker[];
  /** Workers that have disconnected, the latest first. */
  readonly gone: readonly GoneWorker[];
  /** Events, the latest first. */
  readonly events: readonly WorkerEvent[];
  readonly asOfMs: number | undefined;
  readonly refusal: string | null;
  /** Time at which the page was opened. */
  readonly sinceMs: number;
}

/** Maximum number of events in the history. The oldest are dropped. */
const MAX_EVENTS = 500;
const MAX_GONE = 200;

/**
 * The current workers, and the connects and disconnects since the page was opened. The page records them itself,
 * because the engine keeps no history.
 */
export class WorkerHistory {
  readonly #workers = new Map<string, Worker>();
  #gone: GoneWorker[] = [];
  #events: WorkerEvent[] = [];
  #loaded = false;
  #asOfMs: number | undefined;
  #refusal: string | null = null;
  readonly #sinceMs: number;

  constructor(nowMs: number) {
    this.#sinceMs = nowMs;
  }

  /**
   * Applies a sync with all workers. After a restart of the engine, workers have new ids. So a worker that reconnects
   * with the same name does not count as disconnected.
   */
  sync(workers: readonly Worker[], nowMs: number): void {
    const present = new Set(workers.map(({ id }) => id));
    const isFirst = !this.#loaded;
    this.#loaded = true;
    for (const id of [...this.#workers.keys()]) if (!present.has(id)) this.remove(id, nowMs);
    for (const worker of workers) {
      if (isFirst) this.#workers.set(worker.id, worker);
      else this.put(worker, nowMs);
    }
    this.#asOfMs = nowMs;
  }

  put(worker: Worker, nowMs: number): void {
    const before = this.#workers.get(worker.id);
    this.#workers.set(worker.id, worker);
    this.#asOfMs = nowMs;
    const about = { atMs: nowMs, workerId: worker.id, name: worker.name };
    if (before === undefined) {
      this.#gone = this.#gone.filter(({ worker: { id } }) => id !== worker.id);
      this.#note({ ...about, what: "connected", functions: [] });
    }
    const had = new Set(before?.functions ?? []);
    const has = new Set(worker.functions);
    const added = worker.functions.filter((id) => !had.has(id));
    const removed = [...had].filter((id) => !has.has(id));
    if (added.length > 0) this.#note({ ...about, what: "registered", functions: added });
    if (removed.length > 0) this.#note({ ...about, what: "unregistered", functions: removed });
  }

  remove(id: string, nowMs: number): void {
    const worker = this.#workers.get(id);
    this.#asOfMs = nowMs;
    if (worker === undefined) return;
    this.#workers.delete(id);
    this.#gone = [{ worker, goneAtMs: nowMs }, ...this.#gone].slice(0, MAX_GONE);
    this.#note({ atMs: nowMs, workerId: id, name: worker.name, what: "disconnected", functions: [] });
  }

  refuse(reason: string | null): void {
    this.#refusal = reason;
  }

  /** Returns true if a connected worker or module provides the function. Returns undefined before the first sync. */
  provides(functionId: string): boolean | undefined {
    if (!this.#loaded) return undefined;
    for (const { functions } of this.#workers.values()) if (functions.includes(functionId)) return true;
    return false;
  }

  now(): WorkersNow {
    return {
      loaded: this.#loaded,
      workers: [...this.#workers.values()],
      gone: this.#gone,
      events: this.#events,
      asOfMs: this.#asOfMs,
      refusal: this.#refusal,
      sinceMs: this.#sinceMs,
    };
  }

  #note(event: WorkerEvent): void {
    this.#events = [event, ...this.#events].slice(0, MAX_EVENTS);
  }
}

const listeners = new Set<() => void>();
let history: WorkerHistory | undefined;
let shown: WorkersNow = new WorkerHistory(Date.now()).now();
let frame = 0;

function changed(): void {
  if (frame !== 0) return;
  frame = requestAnimationFrame(() => {
    frame = 0;
    shown = (history as WorkerHistory).now();
    for (const listener of listeners) listener();
  });
}

/** Starts to record workers for as long as the page is open, so that disconnects are recorded on all pages. */
export function startWorkerHistory(): void {
  if (history !== undefined) return;
  const kept = new WorkerHistory(Date.now());
  history = kept;
  live.subscribe("svc.workers", "all", {
    onSync(data) {
      kept.sync(data as readonly Worker[], Date.now());
      resolveFirstSync();
      changed();
    },
    onEvent({ type, id, data }) {
      if (id === null || type === "event") return;
      if (type === "delete") kept.remove(id, Date.now());
      else kept.put(data as Worker, Date.now());
      changed();
    },
    onStatus(status, reason) {
      kept.refuse(status === "refused" ? (reason ?? "refused") : null);
      if (status === "refused") resolveFirstSync();
      changed();
    },
  });
}

/** Maximum time that callers wait for the first sync, in milliseconds. */
const MAX_WAIT_MS = 1_000;
let resolveFirstSync: () => void = () => undefined;
const firstSync = new Promise<void>((resolve) => {
  resolveFirstSync = resolve;
});

export const workerHistory = {
  get: (): WorkersNow => shown,
  /** Returns false only if it is known that no worker provides the function now. */
  mayProvide: async (functionId: string): Promise<boolean> => {
    if (history === undefined) return true;
    if (history.provides(functionId) === undefined) {
      await Promise.race([firstSync, new Promise((resolve) => setTimeout(resolve, MAX_WAIT_MS))]);
    }
    return history.provides(functionId) !== false;
  },
  listen: (listener: () => void): (() => void) => {
    listeners.add(listener);
    return () => {
      listeners.delete(listener);
    };
  },
};
