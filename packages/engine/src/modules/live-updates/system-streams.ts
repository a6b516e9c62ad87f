import type { Clock } from "../../kernel/clock.ts";
import type { Directory, DirectoryChange } from "../../kernel/directory.ts";

/** Streams of the engine itself. Each has one group. */
export const SYSTEM_STREAMS = ["svc.workers", "svc.functions", "svc.triggers", "svc.counters"] as const;
export type SystemStream = (typeof SYSTEM_STREAMS)[number];
/** The one group of every system stream. */
export const SYSTEM_GROUP = "all";

/** Changes of one tenth of a second go out together: each id once, in its latest form. In milliseconds. */
const BATCH_MS = 100;

export interface StreamEvent {
  readonly stream: SystemStream;
  readonly id: string;
  readonly type: "create" | "update" | "delete";
  readonly data: unknown;
}

const STREAM_OF_KIND: Readonly<Record<DirectoryChange["kind"], SystemStream>> = { worker: "svc.workers", function: "svc.functions", trigger: "svc.triggers" };

/** Turns changes of the directory into events, batched, and answers what a stream holds now. */
export class SystemStreams {
  readonly #directory: Directory;
  readonly #clock: Clock;
  readonly #subscribers = new Set<(event: StreamEvent) => void>();
  readonly #dirty = new Map<string, DirectoryChange>();
  readonly #stopListening: () => void;
  #cancelBatch: (() => void) | undefined;

  constructor(directory: Directory, clock: Clock) {
    this.#directory = directory;
    this.#clock = clock;
    this.#stopListening = directory.onChange((change) => this.#changed(change));
  }

  now(): number {
    return this.#clock.now();
  }

  /** All items of a stream, or the one with `id` (null when there is none). */
  snapshot(stream: SystemStream, id: string | undefined): unknown {
    if (id !== undefined) return this.#item(stream, id) ?? null;
    if (stream === "svc.workers") return this.#directory.workers();
    if (stream === "svc.functions") return this.#directory.functions();
    if (stream === "svc.triggers") return this.#directory.triggers();
    return [{ id: "counters", ...this.#directory.counters() }];
  }

  subscribe(subscriber: (event: StreamEvent) => void): () => void {
    const own = (event: StreamEvent): void => subscriber(event);
    this.#subscribers.add(own);
    return () => this.#subscribers.delete(own);
  }

  stop(): void {
    this.#stopListening();
    this.#cancelBatch?.();
    this.#subscribers.clear();
  }

  #changed(change: DirectoryChange): void {
    if (this.#subscribers.size === 0) return;
    const key = `${change.kind} ${change.id}`;
    const earlier = this.#dirty.get(key);
    // What came into being within this batch is still new to the clients, however often it changed since.
    this.#dirty.set(key, earlier?.op === "created" && change.op === "updated" ? earlier : change);
    this.#cancelBatch ??= this.#clock.after(BATCH_MS, () => this.#flush());
  }

  #flush(): void {
    this.#cancelBatch = undefined;
    for (const { kind, id, op } of this.#dirty.values()) {
      const stream = STREAM_OF_KIND[kind];
      const data = this.#item(stream, id);
      if (data === undefined) this.#publish({ stream, id, type: "delete", data: { id } });
      else this.#publish({ stream, id, type: op === "created" ? "create" : "update", data });
    }
    this.#dirty.clear();
    this.#publish({ stream: "svc.counters", id: "counters", type: "update", data: { id: "counters", ...this.#directory.counters() } });
  }

  #item(stream: SystemStream, id: string): unknown {
    if (stream === "svc.workers") return this.#directory.workerById(id);
    if (stream === "svc.functions") return this.#directory.functionById(id);
    if (stream === "svc.triggers") return this.#directory.triggerById(id);
    return id === "counters" ? { id, ...this.#directory.counters() } : undefined;
  }

  #publish(event: StreamEvent): void {
    for (const subscriber of this.#subscribers) subscriber(event);
  }
}
