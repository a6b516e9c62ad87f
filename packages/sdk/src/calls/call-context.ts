import type { WorkerCron } from "../cron/worker-cron.ts";
import type { WorkerEvent } from "../event/worker-event.ts";
import type { Logger } from "../logger.ts";
import type { RunningJob } from "../queue/running-job.ts";
import type { WorkerQueue } from "../queue/worker-queue.ts";
import type { WorkerState } from "../state/worker-state.ts";
import type { WorkerStream } from "../stream/worker-stream.ts";
import type { Span, SpanOptions } from "../telemetry/span.ts";
import type { CallRequest, Inferred, ResultType } from "./call-request.ts";

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
  readonly job: RunningJob | undefined;
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
