import type { Directory } from "@svc-runtime/engine/module";
import type { Caller } from "@svc-runtime/protocol";

/**
 * Origin of a call: `call` (a worker), `http`, `cron`, `event`, `queue`, `state`, `stream`, `console`, `cli`,
 * `engine`.
 */
export type CallSource = string;

const MODULE = "module:";

const BY_MODULE: ReadonlyMap<string, CallSource> = new Map([
  ["svc-pubsub", "event"],
  ["console-api", "console"],
]);

/** Maximum number of tracked open spans of modules. */
const MAX_OPEN_SPANS = 100_000;

export class CallSources {
  readonly #directory: Pick<Directory, "workerById">;
  readonly #ofModules = new Map<string, CallSource>();
  /** Sources by caller. A caller is the same object while its worker is connected. */
  readonly #ofCallers = new WeakMap<Caller, CallSource>();
  /** Source of the calls below an open span, by span id. */
  readonly #openSpans = new Map<string, CallSource>();
  #lastCaller: Caller | undefined;
  #lastSource: CallSource = "";

  constructor(directory: Pick<Directory, "workerById">) {
    this.#directory = directory;
  }

  /** Registers an open span of a module. Calls that name it as their parent come from that module. */
  opened(spanId: string, module: string): void {
    if (this.#openSpans.size < MAX_OPEN_SPANS) this.#openSpans.set(spanId, this.ofModule(module));
  }

  closed(spanId: string): void {
    this.#openSpans.delete(spanId);
  }

  of(caller: Caller | undefined, parentSpanId: string | undefined): CallSource {
    if (caller !== undefined) {
      if (caller === this.#lastCaller) return this.#lastSource;
      return this.#ofCallers.get(caller) ?? this.#resolve(caller, parentSpanId);
    }
    return (parentSpanId === undefined ? undefined : this.#openSpans.get(parentSpanId)) ?? "engine";
  }

  /** Returns `console` or `cli` if the caller is one of these tools and not a worker. */
  toolOf(caller: Caller | undefined): "console" | "cli" | undefined {
    if (caller === undefined || caller.worker_id.startsWith(MODULE)) return undefined;
    const source = this.of(caller, undefined);
    return source === "console" || source === "cli" ? source : undefined;
  }

  /** Returns the source for a module's name, for example `http` for `svc-http`. */
  ofModule(name: string): CallSource {
    let source = this.#ofModules.get(name);
    if (source === undefined) {
      source = BY_MODULE.get(name) ?? name.replace(/^svc-/, "");
      this.#ofModules.set(name, source);
    }
    return source;
  }

  #resolve(caller: Caller, parentSpanId: string | undefined): CallSource {
    const id = caller.worker_id;
    if (id.startsWith(MODULE))
      return (
        (parentSpanId === undefined ? undefined : this.#openSpans.get(parentSpanId)) ??
        this.ofModule(id.slice(MODULE.length))
      );
    const kind = this.#directory.workerById(id)?.kind;
    const source = kind === "cli" || kind === "console" ? kind : "call";
    this.#ofCallers.set(caller, source);
    this.#lastCaller = caller;
    this.#lastSource = source;
    return source;
  }
}
