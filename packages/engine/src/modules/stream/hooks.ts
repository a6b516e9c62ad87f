import { CallError } from "@svc-runtime/protocol";
import type { Directory } from "../../kernel/directory.ts";
import type { Logger } from "../../kernel/logger.ts";
import type { Undo } from "../../kernel/scope.ts";
import { matchesNamePattern } from "./names.ts";

export type HookedOperation = "get" | "set" | "delete" | "list" | "list_groups" | "update";

/** `stream::set(orders)`: the operation and the stream. */
const HOOK_ID = /^stream::(get|set|delete|list|list_groups|update)\((.+)\)$/s;
/**
 * Maximum number of remembered hooked streams. Above it, the stream that was registered least recently is forgotten.
 */
const MAX_REMEMBERED_STREAMS = 10_000;

/**
 * Hooked streams: functions of workers with the literal ids `stream::set(<name>)` and so on store their items. A stream
 * is hooked from the first registration of such a function until the module stops. While the functions are not
 * registered, operations on the stream fail. They do not use the engine's store instead, because the worker would never
 * see such a write. Streams in the config are hooked from the start.
 */
export class Hooks {
  readonly #directory: Directory;
  readonly #log: Logger;
  readonly #declared: () => readonly string[];
  /** Hooked streams, the least recently registered first. */
  readonly #streams = new Set<string>();
  readonly #stop: Undo;

  /** `declared` returns the hooked streams of the config: names, or prefixes with `*`. */
  constructor({
    directory,
    log,
    declared,
  }: { readonly directory: Directory; readonly log: Logger; readonly declared: () => readonly string[] }) {
    this.#directory = directory;
    this.#log = log;
    this.#declared = declared;
    for (const { function_id } of directory.functions()) this.#notice(function_id);
    this.#stop = directory.onChange(({ kind, id, op }) => {
      if (kind === "function" && op !== "removed") this.#notice(id);
    });
  }

  stop(): void {
    this.#stop();
  }

  isHooked(stream: string): boolean {
    return this.#streams.has(stream) || this.#declared().some((pattern) => matchesNamePattern(pattern, stream));
  }

  /** Returns the function for an operation on a hooked stream. Throws `function_not_found` if it is not registered. */
  functionFor(operation: HookedOperation, stream: string): string {
    const id = `stream::${operation}(${stream})`;
    if (!isTrustedFunction(id, this.#directory)) throw notRegistered(id, stream);
    return id;
  }

  #notice(id: string): void {
    if (!id.startsWith("stream::")) return;
    const stream = HOOK_ID.exec(id)?.[2];
    if (stream === undefined || !isTrustedFunction(id, this.#directory)) return;
    if (!this.#streams.delete(stream))
      this.#log.info("stream items are stored by functions of a worker", { stream, functionId: id });
    this.#streams.add(stream);
    const [oldest] = this.#streams;
    if (this.#streams.size > MAX_REMEMBERED_STREAMS && oldest !== undefined) this.#streams.delete(oldest);
  }
}

function notRegistered(id: string, stream: string): CallError {
  const why = `the items of the stream ${JSON.stringify(stream)} are stored by functions of a worker, and this function is not registered`;
  return new CallError("function_not_found", `Function ${id} not found: ${why}`);
}

/**
 * True if a function is registered, and only by unrestricted workers. A function of a restricted connection must not
 * authenticate clients or receive the data of others.
 */
export function isTrustedFunction(id: string, directory: Directory): boolean {
  const workers = directory.functionById(id)?.workers ?? [];
  return workers.length > 0 && workers.every((worker) => (directory.workerById(worker.id)?.principal ?? null) === null);
}
