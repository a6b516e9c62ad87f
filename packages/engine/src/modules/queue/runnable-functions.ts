import { didYouMean, type Payload } from "@svc-runtime/protocol";
import type { Clock } from "../../kernel/clock.ts";
import type { Directory } from "../../kernel/directory.ts";
import type { CallOptions } from "../../kernel/module.ts";
import type { AttemptParts } from "./job-attempt.ts";
import type { JobServer, NoWorkerReasonOptions } from "./queue-core.ts";
import type { LeasedJob } from "./store/job.ts";
import type { TakeInput } from "./store/queue-store.ts";
import { UnavailableFunctions } from "./unavailable-functions.ts";

export interface RunnableFunctionsParts {
  /** Name of the queue. */
  readonly name: string;
  readonly clock: Clock;
  readonly directory: Pick<Directory, "functionById" | "functions" | "isProvidedHere">;
  readonly call: (functionId: string, payload: Payload, options: CallOptions) => Promise<Payload>;
  /** Called when jobs of a function may run again. */
  readonly onResumed: () => void;
}

/**
 * Decides which jobs of one queue can run now. A job that names a function needs a worker that provides it; a job that
 * names none needs the queue's server.
 */
export class RunnableFunctions {
  readonly #parts: RunnableFunctionsParts;
  readonly #unavailable: UnavailableFunctions;
  #server: JobServer | undefined;

  constructor(parts: RunnableFunctionsParts) {
    this.#parts = parts;
    this.#unavailable = new UnavailableFunctions({
      clock: parts.clock,
      isAvailable: (key) => !this.#isKeyAway(key),
      onResumed: parts.onResumed,
    });
  }

  /** True if no worker of this engine can run jobs of the function. Undefined means jobs that name no function. */
  isAway(functionId: string | undefined): boolean {
    return this.#isKeyAway(functionId ?? "");
  }

  /** Returns why no worker can run jobs that call this function; undefined if a worker can. */
  noWorkerReason(
    functionId: string | undefined,
    { mayNameOthers, withSuggestion }: NoWorkerReasonOptions,
  ): string | undefined {
    if (!this.isAway(functionId)) return undefined;
    const { name, directory } = this.#parts;
    if (functionId === undefined && !mayNameOthers)
      return `no trigger of queue ${name} can run jobs that name no function now`;
    const needed = functionId === undefined ? (this.#server?.functionIds ?? []) : [functionId];
    if (needed.length === 0) return `no trigger of queue ${name} runs jobs that name no function`;
    const missing = needed.filter((id) => directory.functionById(id) === undefined);
    if (missing.length === 0) return `no worker can run ${needed.join(" or ")} now`;
    const [first = "", ...others] = missing;
    const known =
      mayNameOthers && withSuggestion && others.length === 0
        ? directory.functions().map(({ function_id: id }) => id)
        : [];
    return `no connected worker provides the function ${missing.join(" or ")}${didYouMean(first, known)}`;
  }

  /** Sets the server of jobs that name no function. */
  serve(server: JobServer): () => void {
    this.#server = server;
    this.serverChanged();
    return () => {
      if (this.#server === server) this.#server = undefined;
    };
  }

  /** Call when the queue's server may be available again. */
  serverChanged(): void {
    this.#unavailable.resume("");
  }

  /** Call when the function may be available again. */
  functionChanged(id: string): void {
    this.#unavailable.resume(id);
    if (this.#unavailable.isFull) this.#parts.onResumed();
    if (this.#server?.functionIds.includes(id) === true) this.#unavailable.resume("");
  }

  /** Takes no jobs of the function until it may be available, or for a delay that grows each time. */
  backOff(functionId: string | undefined): void {
    this.#unavailable.start(functionId ?? "");
  }

  /** Call when the function ran a job, so that its next backoff starts with the shortest delay. */
  ran(functionId: string | undefined): void {
    this.#unavailable.reset(functionId ?? "");
  }

  /** Returns which functions a take leaves out, or to which it is limited. */
  takeFilter(): Pick<TakeInput, "except" | "only"> {
    return {
      except: this.#unavailable.keys(),
      only: this.#unavailable.isFull ? this.#availableFunctions() : undefined,
    };
  }

  /** Returns the function that makes one attempt of the job. */
  runOf({ functionId }: LeasedJob): AttemptParts["run"] {
    if (functionId !== undefined)
      return (payload, options, attempt) => this.#parts.call(functionId, payload, attempt.callOptions(options));
    const server = this.#server;
    if (server === undefined) throw new TypeError("the queue has no server");
    return (payload, options, attempt) => server.run(payload, options, attempt);
  }

  /** Cancels all backoffs. */
  close(): void {
    this.#unavailable.clear();
  }

  #availableFunctions(): string[] {
    return ["", ...this.#parts.directory.functions().map(({ function_id: id }) => id)].filter(
      (key) => !this.#isKeyAway(key),
    );
  }

  /** `key`: the id of a function; an empty text means jobs that name no function. */
  #isKeyAway(key: string): boolean {
    if (key === "") return this.#server === undefined || this.#server.isAway();
    // An engine of a cluster takes only jobs that its own workers can run, so that it need not pass them to other
    // engines.
    return !this.#parts.directory.isProvidedHere(key);
  }
}
