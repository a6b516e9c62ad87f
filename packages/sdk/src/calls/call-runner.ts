import { CallError } from "@svc-runtime/protocol/client";
import { functionNotFound } from "../connection/session.ts";
import { parseBySchema } from "../schema/parse-by-schema.ts";
import type { StandardSchema } from "../schema/standard-schema.ts";
import { withExecuted } from "../with-executed.ts";
import type { AcceptedCall } from "./accepted-call.ts";
import { ActiveCall, type ActiveCallHost } from "./active-call.ts";
import type { AsyncContext } from "./async-context.ts";
import type { Handler } from "./call-context.ts";
import { takeFailedCall } from "./call-site.ts";
import { callErrorFrom } from "./thrown.ts";

export interface FunctionEntry {
  readonly handler: Handler<unknown>;
  /** Validates and converts the payload before the handler runs. */
  readonly schema: StandardSchema | undefined;
  /**
   * True if the handler also receives the members of the payload that the schema removed. It is set for handlers of
   * HTTP requests. Most schemas remove members that they do not know, but a request also has the path parameters and
   * the response channel.
   */
  readonly keepsUnknownMembers: boolean;
}

/** Receives the results and errors of calls. */
export interface Answers {
  answer(invocationId: string, result: unknown): void;
  fail(invocationId: string, error: CallError): void;
}

/** Runs handlers. All run concurrently, because the engine limits the calls in flight per worker. */
export class CallRunner {
  readonly #host: ActiveCallHost;
  readonly #asyncContext: AsyncContext;
  readonly #answers: Answers;
  readonly #active = new Map<string, ActiveCall>();

  constructor(options: {
    readonly host: ActiveCallHost;
    readonly asyncContext: AsyncContext;
    readonly answers: Answers;
  }) {
    this.#host = options.host;
    this.#asyncContext = options.asyncContext;
    this.#answers = options.answers;
  }

  /** Runs a call. `entry` is undefined if the function was unregistered. */
  run(call: AcceptedCall, entry: FunctionEntry | undefined): void {
    if (entry === undefined) {
      this.#answers.fail(call.invocationId, CallError.fromWire(functionNotFound(call.functionId)));
      return;
    }
    const active = new ActiveCall(call, this.#host);
    this.#active.set(call.invocationId, active);
    let outcome: unknown;
    try {
      outcome = this.#asyncContext.run(active, runHandler, entry, call.payload, active);
      if (isThenable(outcome)) {
        outcome.then(
          (result) => this.#done(active, result),
          (thrown) => this.#failed(active, thrown),
        );
        return;
      }
    } catch (thrown) {
      this.#failed(active, thrown);
      return;
    }
    this.#done(active, outcome);
  }

  cancel(invocationId: string, reason: string): void {
    this.#active.get(invocationId)?.abort(reason);
  }

  /** Returns one promise per call in flight. Each resolves when the call's handler ends. */
  ends(): readonly Promise<void>[] {
    return [...this.#active.values()].map(
      (active) =>
        new Promise<void>((resolve) => {
          active.onEnd = resolve;
        }),
    );
  }

  #done(active: ActiveCall, result: unknown): void {
    this.#settle(active);
    this.#answers.answer(active.invocationId, result === undefined ? active.emptyResult : result);
    active.end();
  }

  #failed(active: ActiveCall, thrown: unknown): void {
    this.#settle(active);
    let error = callErrorFrom(thrown);
    // A CallError that the handler itself creates is intended. Any other error is logged with its stack, because it is
    // probably a bug in the handler or in a function that the handler called.
    if (error !== thrown) active.log.error("a handler failed", { error: thrown });
    else if (takeFailedCall(error)) {
      active.log.warn("a handler failed with the error of a call that it made", { error });
      // `executed` says whether the function ran that the handler called. The handler itself did run.
      if (error.executed !== "yes") error = withExecuted("yes", error);
    }
    this.#answers.fail(active.invocationId, error);
    active.end();
  }

  /**
   * Removes the call, but only if the stored entry is of this call: after a reconnect, the engine may send a call with
   * the same id again.
   */
  #settle(active: ActiveCall): void {
    if (this.#active.get(active.invocationId) === active) this.#active.delete(active.invocationId);
  }
}

function runHandler(entry: FunctionEntry, payload: unknown, active: ActiveCall): unknown {
  if (entry.schema === undefined) return entry.handler(payload, active);
  const { functionId: function_id } = active;
  const input = parseBySchema(entry.schema, payload, () => ({
    text: `the payload does not fit function ${function_id}`,
    details: { function_id, executed: "no" },
  }));
  // `input` is a promise only if the schema has asynchronous checks.
  return input instanceof Promise
    ? input.then((parsed) => entry.handler(inputOf(entry, payload, parsed), active))
    : entry.handler(inputOf(entry, payload, input), active);
}

function inputOf(entry: FunctionEntry, payload: unknown, parsed: unknown): unknown {
  return entry.keepsUnknownMembers && isObject(payload) && isObject(parsed) ? { ...payload, ...parsed } : parsed;
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof value === "object" && value !== null && "then" in value && typeof value.then === "function";
}
