import type { Caller, Job } from "@svc/protocol";
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
  /** Deadline in milliseconds, 1 to 86,400,000. Default: `callTimeoutMs` of `connect`, else what the function registered with, else 30,000. */
  readonly timeout_ms?: number | undefined;
  /** Withdraws the call when it aborts; the call then rejects with `call_cancelled`. */
  readonly signal?: AbortSignal | undefined;
  /** The caller's own remarks, handed to the handler as `context.metadata`. */
  readonly metadata?: unknown;
}

interface FunctionChoice<Id extends string> {
  readonly function_id: Id;
}

/** Whom to call with what. The payload may be left out, which sends null, unless the function's known type wants one. */
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

/** Stands for "no type was given"; no caller can name it by accident. */
declare const inferred: unique symbol;
export type Inferred = typeof inferred;

/** The given type, else what `Functions` knows of the function. */
export type ResultType<Result, Id> = [Result] extends [Inferred] ? ResultOf<Id> : Result;

/** What a handler knows about the call that it carries out. */
export interface CallContext {
  /** Who called, by the engine's word. Absent when the engine itself called. */
  readonly caller: Caller | undefined;
  /** The queued job that this call carries out. */
  readonly job: Job | undefined;
  /** The caller's remarks, or the trigger's `metadata`; of an event also its topic, see `EventMetadata`. */
  readonly metadata: unknown;
  /** Aborts when the caller withdraws the call, when its deadline passes, and when the connection is lost. */
  readonly signal: AbortSignal;
  readonly invocation_id: string;
  readonly function_id: string;
  /** W3C trace context of the call. */
  readonly traceparent: string | undefined;
  /** W3C baggage of the call, as it came; calls made within the handler carry it on. */
  readonly baggage: string | undefined;
  /** One entry of `baggage`, decoded. */
  baggageEntry(name: string): string | undefined;
  /** Its lines carry the worker, the function, the call and the span, and are kept by the engine with that span. */
  readonly log: Logger;
  /**
   * Runs `body` and records it as a span of its own below this call's, to the end of the promise that it may give. What it throws is recorded and
   * thrown on. Calls and log lines made inside hang below the span; in browsers only its `traceparent` does.
   */
  span<Result>(name: string, body: (span: Span) => Result, options?: SpanOptions): Result;
  /** As `worker.call`, but passes the trace on and, unless `signal` is given, is withdrawn when this call's signal aborts. */
  call<Result = Inferred, const Id extends string = string>(request: CallRequest<Id>): Promise<ResultType<Result, Id>>;
  /** As `worker.state`, by this context's `call`. */
  readonly state: WorkerState;
  /** As `worker.stream`, by this context's `call`. */
  readonly stream: WorkerStream;
  /** As `worker.event`, by this context's `call`. */
  readonly event: WorkerEvent;
  /** As `worker.queue`, by this context's `call`. */
  readonly queue: WorkerQueue;
  /** As `worker.cron`, by this context's `call`. */
  readonly cron: WorkerCron;
}

/** Returns or resolves to the result, which must be JSON; undefined answers without one. What it throws becomes the caller's error. */
export type Handler<Input, Result = unknown> = (input: Input, context: CallContext) => Result | Promise<Result>;
