import { live } from "./live-connection.ts";

/** A worker as `svc.workers` tells of it. */
export interface Worker {
  readonly id: string;
  readonly name: string;
  readonly description: string | null;
  readonly runtime: string;
  readonly version: string | null;
  readonly os: string | null;
  readonly ip_address: string | null;
  readonly pid: number | null;
  readonly isolation: string | null;
  readonly features: readonly string[];
  readonly kind: "worker" | "cli" | "console" | "module";
  readonly internal: boolean;
  readonly status: "connected" | "available";
  readonly connected_at_ms: number;
  readonly function_count: number;
  readonly functions: readonly string[];
  readonly trigger_types: readonly string[];
  readonly trigger_count: number;
  readonly active_invocations: number;
  readonly principal: string | null;
  readonly configured_worker: string | null;
}

export interface WorkerEvent {
  readonly atMs: number;
  readonly workerId: string;
  readonly name: string;
  readonly what: "connected" | "disconnected" | "registered" | "unregistered";
  /** Functions that came or went. */
  readonly functions: readonly string[];
}

export interface GoneWorker {
  readonly worker: Worker;
  readonly goneAtMs: number;
}

export interface WorkersNow {
  /** False until the first sync: then an empty list says nothing. */
  readonly loaded: boolean;
  readonly workers: readonly Worker[];
  /** Latest first. */
  readonly gone: readonly GoneWorker[];
  /** Latest first. */
  readonly events: readonly WorkerEvent[];
  readonly asOfMs: number | undefined;
  readonly refusal: string | null;
  /** Since when the page has been looking. */
  readonly sinceMs: number;
}

/** What is remembered of the past, at most; the oldest goes first. */
const MOST_EVENTS = 500;
const MOST_GONE = 200;

/** The workers, and what the page saw of their coming and going since it was opened: the engine itself forgets who has gone. */
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

  /** All there are. After an absence of the engine its workers have other ids: who comes back under a name that is gone is not lost. */
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
    this.#gone = [{ worker, goneAtMs: nowMs }, ...this.#gone].slice(0, MOST_GONE);
    this.#note({ atMs: nowMs, workerId: id, name: worker.name, what: "disconnected", functions: [] });
  }

  refuse(reason: string | null): void {
    this.#refusal = reason;
  }

  /** Whether a worker, or a module, that is there provides the function; undefined before it is known who is there. */
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
    this.#events = [event, ...this.#events].slice(0, MOST_EVENTS);
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

/** Follows the workers for as long as the page lives, so that who was lost while another page was open is known. */
export function startWorkerHistory(): void {
  if (history !== undefined) return;
  const kept = new WorkerHistory(Date.now());
  history = kept;
  live.subscribe("svc.workers", "all", {
    onSync(data) {
      kept.sync(data as readonly Worker[], Date.now());
      toldWhoIsThere();
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
      if (status === "refused") toldWhoIsThere();
      changed();
    },
  });
}

/** Whoever asks before is not kept waiting for longer, in milliseconds. */
const MOST_WAIT_MS = 1_000;
let toldWhoIsThere: () => void = () => undefined;
const isKnownWhoIsThere = new Promise<void>((resolve) => {
  toldWhoIsThere = resolve;
});

export const workerHistory = {
  get: (): WorkersNow => shown,
  /** False only where it is known that nobody provides the function now. */
  mayProvide: async (functionId: string): Promise<boolean> => {
    if (history === undefined) return true;
    if (history.provides(functionId) === undefined) {
      await Promise.race([isKnownWhoIsThere, new Promise((resolve) => setTimeout(resolve, MOST_WAIT_MS))]);
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
