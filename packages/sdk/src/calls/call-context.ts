import type { WorkerCron } from "../cron/worker-cron.ts";
import type { WorkerEvent } from "../event/worker-event.ts";
import type { Logger } from "../logger.ts";
import type { RunningJob } from "../queue/running-job.ts";
import type { WorkerQueue } from "../queue/worker-queue.ts";
import type { WorkerState } from "../state/worker-state.ts";
import type { WorkerStream } from "../stream/worker-stream.ts";
import type { Span, SpanOptions } from "../telemetry/span.ts";
import type { CallRequest, Inferred, ResultType } from "./call-request.ts";

/** The worker that made a call. The engine verified it. */
export interface Caller {
  readonly workerId: string;
  readonly name: string;
  /** @deprecated Use `workerId`. */
  readonly worker_id: string;
}

/** The call that a handler runs. */
export interface CallContext {
  /** Undefined if the engine itself made the call. */
  readonly caller: Caller | undefined;
  /** The queued job that this call runs. Undefined for other calls. */
  readonly job: RunningJob | undefined;
  /** The `metadata` of the caller or of the trigger. For events, it also contains the topic; see `EventMetadata`. */
  readonly metadata: unknown;
  /** Aborts in three cases: the caller cancels the call; its deadline passes; the connection is lost. */
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
  /**
   * A logger whose lines contain the worker, the function, the call and the span. The engine stores these lines with
   * the span.
   */
  readonly log: Logger;
  /**
   * Runs `body` and records it as a child span of this call's span. If `body` returns a promise, the span lasts until
   * the promise settles. An error is recorded and rethrown. Calls and log lines inside `body` belong to the span. In
   * browsers, they belong to it only if they are given its `traceparent`.
   */
  span<Result>(name: string, body: (span: Span) => Result, options?: SpanOptions): Result;
  /**
   * Like `worker.call`, but passes the trace on. If no `signal` is given, the call is cancelled when this call's signal
   * aborts.
   */
  call<Result = Inferred, const Id extends string = string>(request: CallRequest<Id>): Promise<ResultType<Result, Id>>;
  /** Like `worker.state`, but calls are made with this context's `call`. */
  readonly state: WorkerState;
  /** Like `worker.stream`, but calls are made with this context's `call`. */
  readonly stream: WorkerStream;
  /** Like `worker.event`, but calls are made with this context's `call`. */
  readonly event: WorkerEvent;
  /** Like `worker.queue`, but calls are made with this context's `call`. */
  readonly queue: WorkerQueue;
  /** Like `worker.cron`, but calls are made with this context's `call`. */
  readonly cron: WorkerCron;
}

/**
 * A handler returns the result or a promise of it. The result is a JSON value; for undefined, no result is sent. If the
 * handler throws, the caller's call rejects with the error.
 */
export type Handler<Input, Result = unknown> = (input: Input, context: CallContext) => Result | Promise<Result>;
