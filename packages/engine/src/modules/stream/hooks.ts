import { CallError } from "@svc/protocol";
import type { Directory } from "../../kernel/directory.ts";
import type { Logger } from "../../kernel/logger.ts";
import type { Undo } from "../../kernel/scope.ts";
import { namePatternFits } from "./names.ts";

export type HookedOperation = "get" | "set" | "delete" | "list" | "list_groups" | "update";

/** `stream::set(orders)`: the operation and the stream. */
const HOOK_ID = /^stream::(get|set|delete|list|list_groups|update)\((.+)\)$/s;
/** Streams that are remembered as kept by functions, while the functions are away. Beyond, the one seen longest ago is forgotten. */
const MAX_REMEMBERED_STREAMS = 10_000;

/**
 * Streams whose items are kept by functions of workers instead of here: a function with the literal id `stream::set(<name>)`, and so on. A stream is
 * kept by functions from the moment when one of them is registered, and stays so until the module stops: while they are away its operations
 * fail, rather than write where nobody will look for it. Those that the config names are so from the start on, before any worker has come.
 */
export class Hooks {
  readonly #directory: Directory;
  readonly #log: Logger;
  readonly #declared: () => readonly string[];
  /** Streams that functions keep, those seen longest ago first. */
  readonly #streams = new Set<string>();
  readonly #stop: Undo;

  /** `declared`: names, or beginnings with `*`. */
  constructor({ directory, log, declared }: { readonly directory: Directory; readonly log: Logger; readonly declared: () => readonly string[] }) {
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

  keeps(stream: string): boolean {
    return this.#streams.has(stream) || this.#declared().some((pattern) => namePatternFits(pattern, stream));
  }

  /** The function to call for an operation on a stream that functions keep. Throws `function_not_found` when there is none for this operation. */
  functionFor(operation: HookedOperation, stream: string): string {
    const id = `stream::${operation}(${stream})`;
    if (!isTrustedFunction(id, this.#directory)) throw notThere(id, stream);
    return id;
  }

  #notice(id: string): void {
    if (!id.startsWith("stream::")) return;
    const stream = HOOK_ID.exec(id)?.[2];
    if (stream === undefined || !isTrustedFunction(id, this.#directory)) return;
    if (!this.#streams.delete(stream)) this.#log.info("a stream is kept by functions of a worker", { stream, functionId: id });
    this.#streams.add(stream);
    const [oldest] = this.#streams;
    if (this.#streams.size > MAX_REMEMBERED_STREAMS && oldest !== undefined) this.#streams.delete(oldest);
  }
}

function notThere(id: string, stream: string): CallError {
  const why = `the items of the stream ${JSON.stringify(stream)} are kept by functions of a worker, and this one is not there`;
  return new CallError("function_not_found", `Function ${id} not found: ${why}`);
}

/**
 * Whether a function is there and only unrestricted workers provide it. What a restricted connection registers must not decide over clients, nor be
 * handed what others write.
 */
export function isTrustedFunction(id: string, directory: Directory): boolean {
  const workers = directory.functionById(id)?.workers ?? [];
  return workers.length > 0 && workers.every((worker) => (directory.workerById(worker.id)?.principal ?? null) === null);
}
