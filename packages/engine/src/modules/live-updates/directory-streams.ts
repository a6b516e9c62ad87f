import type { Clock } from "../../kernel/clock.ts";
import type { Directory, DirectoryChange } from "../../kernel/directory.ts";
import type { ModuleContext } from "../../kernel/module.ts";
import type { SystemStream } from "../../kernel/stream-contract.ts";

/** Changes within this time are sent together: each id once, in its latest state. In milliseconds. */
const BATCH_MS = 100;

/** The only item of the stream of counters. */
const COUNTERS = "counters";

/** How one kind of object is shown. */
interface View {
  all(directory: Directory): readonly unknown[];
  one(directory: Directory, id: string): unknown;
}

const VIEWS = {
  worker: { all: (directory) => directory.workers(), one: (directory, id) => directory.workerById(id) },
  function: { all: (directory) => directory.functions(), one: (directory, id) => directory.functionById(id) },
  trigger: { all: (directory) => directory.triggers(), one: (directory, id) => directory.triggerById(id) },
} as const satisfies Partial<Record<DirectoryChange["kind"], View>>;
type Kind = keyof typeof VIEWS;

/**
 * Publishes changes of the directory as events of the streams `svc.workers`, `svc.functions`, `svc.triggers` and
 * `svc.counters`, in batches.
 */
export class DirectoryStreams {
  readonly #directory: Directory;
  readonly #clock: Clock;
  readonly #streams: Readonly<Record<Kind, SystemStream>>;
  readonly #counters: SystemStream;
  readonly #dirty = new Map<string, DirectoryChange & { readonly kind: Kind }>();
  readonly #stopListening: () => void;
  #cancelBatch: (() => void) | undefined;

  constructor({ directory, clock, streams }: Pick<ModuleContext<unknown>, "directory" | "clock" | "streams">) {
    this.#directory = directory;
    this.#clock = clock;
    const provide = (name: string, summary: string, view: View): SystemStream =>
      streams.provideSystemStream({
        name,
        summary,
        snapshot(id, access) {
          const seen = access?.visible(directory) ?? directory;
          return JSON.stringify(id === undefined ? view.all(seen) : (view.one(seen, id) ?? null));
        },
      });
    this.#streams = {
      worker: provide("svc.workers", "Connected workers and modules", VIEWS.worker),
      function: provide("svc.functions", "Functions of live workers and modules", VIEWS.function),
      trigger: provide("svc.triggers", "Trigger bindings", VIEWS.trigger),
    };
    this.#counters = provide("svc.counters", "Counters of the dashboard, as one item", {
      all: (seen) => [counters(seen)],
      one: (seen, id) => (id === COUNTERS ? counters(seen) : undefined),
    });
    this.#stopListening = directory.onChange((change) => this.#changed(change));
  }

  stop(): void {
    this.#stopListening();
    this.#cancelBatch?.();
  }

  #changed(change: DirectoryChange): void {
    // A change of a worker's registrations changes the worker's own listing, which contains them.
    const kind = change.kind === "registrations" ? "worker" : change.kind;
    if (kind === "stream") {
      if (this.#counters.subscribers === 0) return;
    } else {
      if (this.#counters.subscribers === 0 && this.#streams[kind].subscribers === 0) return;
      const key = `${kind} ${change.id}`;
      const earlier = this.#dirty.get(key);
      // An object created in this batch is still new to the clients, even if it changed since.
      this.#dirty.set(key, earlier?.op === "created" && change.op === "updated" ? earlier : { ...change, kind });
    }
    this.#cancelBatch ??= this.#clock.after(BATCH_MS, () => this.#flush());
  }

  #flush(): void {
    this.#cancelBatch = undefined;
    for (const { kind, id, op } of this.#dirty.values()) {
      const stream = this.#streams[kind];
      if (stream.subscribers === 0) continue;
      const data = VIEWS[kind].one(this.#directory, id);
      if (data === undefined) stream.publish({ id, type: "delete", json: JSON.stringify({ id }) });
      else stream.publish({ id, type: op === "created" ? "create" : "update", json: JSON.stringify(data) });
    }
    this.#dirty.clear();
    if (this.#counters.subscribers > 0)
      this.#counters.publish({ id: COUNTERS, type: "update", json: JSON.stringify(counters(this.#directory)) });
  }
}

function counters(directory: Directory): unknown {
  return { id: COUNTERS, ...directory.counters() };
}
