import type { Job } from "@svc/protocol";
import type { WorkerCron } from "./cron/worker-cron.ts";
import type { WorkerEvent } from "./event/worker-event.ts";
import type { Functions } from "./functions.ts";
import type { Logger } from "./logger.ts";
import type { WorkerQueue } from "./queue/worker-queue.ts";
import type { WorkerState } from "./state/worker-state.ts";
import type { WorkerStream } from "./stream/worker-stream.ts";
import type { Span, SpanOptions } from "./telemetry/own-span.ts";

type Part<Id, Name extends "payload" | "result"> = Id extends keyof Functions
  ? Functions[Id] extends { readonly [N in Name]: infer Type }
    ? Type
    : unknown
  : unknown;

/** The payload type of a function in `Functions`, else `unknown`. */
export type PayloadOf<Id> = Part<Id, "payload">;
/** The result type of a function in `Functions`, else `unknown`. */
export type ResultOf<Id> = Part<Id, "result">;

export interface CallOptions {
  /**
   * Deadline in milliseconds, 1 to 86,400,000. Default: `callTimeoutMs` of `connect`, else what the function registered
   * with, else 30,000.
   */
  readonly timeoutMs?: number | undefined;
  /** @deprecated Use `timeoutMs`. */
  readonly timeout_ms?: number | undefined;
  /** Cancels the call when it aborts. The call then rejects with `call_cancelled`. */
  readonly signal?: AbortSignal | undefined;
  /** Any JSON value. The handler receives it as `context.metadata`. */
  readonly metadata?: unknown;
}

/** A function by its id. Both spellings are valid: the specification writes out `function_id`. */
export type FunctionChoice<Id extends string = string> =
  | { readonly function_id: Id; readonly functionId?: undefined }
  | { readonly functionId: Id; readonly function_id?: undefined };

export function functionIdOf(choice: FunctionChoice): string {
  // An untyped caller may give neither: then the check of the id fails.
  return (choice.function_id ?? choice.functionId) as string;
}

/** Function to call and its payload. The default payload is null, unless `Functions` declares a payload type. */
export type CallRequest<Id extends string = string> = CallOptions &
  FunctionChoice<Id> &
  (Id extends keyof Functions
    ? Functions[Id] extends { readonly payload: unknown }
      ? { readonly payload: PayloadOf<Id> }
      : { readonly payload?: unknown }
    : { readonly payload?: unknown });

export type EnqueueRequest<Id extends string = string> = CallRequest<Id> & { readonly queue: string };

export interface EnqueueReceipt {
  readonly messageReceiptId: string;
}

/** Marks a type parameter without an argument. Not exported, so that callers cannot pass it. */
declare const inferred: unique symbol;
export type Inferred = typeof inferred;

/** The given type, else the result type in `Functions`. */
export type ResultType<Result, Id> = [Result] extends [Inferred] ? ResultOf<Id> : Result;

/** The worker that made a call, as identified by the engine. */
export interface Caller {
  readonly workerId: string;
  readonly name: string;
  /** @deprecated Use `workerId`. */
  readonly worker_id: string;
}

/** The call that a handler runs. */
export interface CallContext {
  /** Absent if the engine itself called. */
  readonly caller: Caller | undefined;
  /** The queued job that this call runs. Absent for other calls. */
  readonly job: Job | undefined;
  /** The caller's `metadata`, or the trigger's. For events it also contains the topic, see `EventMetadata`. */
  readonly metadata: unknown;
  /** Aborts when the caller cancels the call, when its deadline passes, and when the connection is lost. */
  readonly signal: AbortSignal;
  readonly invocationId: string;
  readonly functionId: string;
  /** @deprecated Use `invocationId`. */
  readonly invocation_id: string;
  /** @deprecated Use `functionId`. */
  readonly function_id: string;
  /** W3C trace context of the call. */
  readonly traceparent: string | undefined;
  /** W3C baggage of the call, as received. Calls made within the handler pass it on. */
  readonly baggage: string | undefined;
  /** Returns one entry of `baggage`, decoded. */
  baggageEntry(name: string): string | undefined;
  /** Its lines contain the worker, the function, the call and the span. The engine stores them with that span. */
  readonly log: Logger;
  /**
   * Runs `body` and records it as a span below this call's. The span lasts until the promise of `body` settles, if it
   * returns one. An error is recorded and rethrown. Calls and log lines made inside belong to the span. In browsers
   * only its `traceparent` links them.
   */
  span<Result>(name: string, body: (span: Span) => Result, options?: SpanOptions): Result;
  /**
   * As `worker.call`, but passes the trace on. Unless `signal` is given, the call is cancelled when this call's signal
   * aborts.
   */
  call<Result = Inferred, const Id extends string = string>(request: CallRequest<Id>): Promise<ResultType<Result, Id>>;
  /** As `worker.state`, with this context's `call`. */
  readonly state: WorkerState;
  /** As `worker.stream`, with this context's `call`. */
  readonly stream: WorkerStream;
  /** As `worker.event`, with this context's `call`. */
  readonly event: WorkerEvent;
  /** As `worker.queue`, with this context's `call`. */
  readonly queue: WorkerQueue;
  /** As `worker.cron`, with this context's `call`. */
  readonly cron: WorkerCron;
}

/**
 * Returns or resolves to the result, a JSON value. Undefined sends no result. A thrown error becomes the caller's
 * error.
 */
export type Handler<Input, Result = unknown> = (input: Input, context: CallContext) => Result | Promise<Result>;
