import { CallError } from "@svc-runtime/protocol/client";
import type { Channels } from "../channels/channels.ts";
import { type CronPart, type WorkerCron, workerCron } from "../cron/worker-cron.ts";
import { WorkerEvent } from "../event/worker-event.ts";
import type { Logger } from "../logger.ts";
import { deprecated } from "../names/deprecation.ts";
import { engineResult } from "../names/engine-result.ts";
import type { Part } from "../on-demand.ts";
import { RunningJob } from "../queue/running-job.ts";
import { type QueuePart, type WorkerQueue, workerQueue } from "../queue/worker-queue.ts";
import { type StateTransfer, WorkerState } from "../state/worker-state.ts";
import { WorkerStream } from "../stream/worker-stream.ts";
import { readBaggage } from "../telemetry/baggage.ts";
import type { Span, SpanOptions } from "../telemetry/span.ts";
import type { AcceptedCall } from "./accepted-call.ts";
import type { Active } from "./async-context.ts";
import type { CallContext, Caller } from "./call-context.ts";
import type { CallRequest, Inferred, ResultType } from "./call-request.ts";

/** The services of the worker that an active call uses. */
export interface ActiveCallHost {
  loggerOf(call: ActiveCall): Logger;
  span<Result>(call: ActiveCall, name: string, body: (span: Span) => Result, options: SpanOptions): Result;
  readonly channels: Pick<Channels, "created" | "end">;
  readonly queueAndCron: Part<QueuePart & CronPart>;
  readonly stateTransfer: Part<StateTransfer>;
  startCall(request: CallRequest, parent: ActiveCall, signal: AbortSignal): Promise<unknown>;
  /** Makes a call whose result is not needed. The call is dropped if it cannot be sent. */
  notify(request: CallRequest, parent: ActiveCall): void;
}

/**
 * A call whose handler runs. Members that few handlers use (signal, log, call, state, stream, ...) are created when
 * they are first used.
 */
export class ActiveCall implements CallContext, Active {
  readonly #host: ActiveCallHost;
  readonly #call: AcceptedCall;
  #controller: AbortController | undefined;
  #abortReason: CallError | undefined;
  #caller: Caller | undefined;
  #job: RunningJob | undefined;
  #log: Logger | undefined;
  #start: CallContext["call"] | undefined;
  #span: CallContext["span"] | undefined;
  #state: WorkerState | undefined;
  #stream: WorkerStream | undefined;
  #event: WorkerEvent | undefined;
  #queue: WorkerQueue | undefined;
  #cron: WorkerCron | undefined;
  /** Called when the call ends. A shutdown that waits for this call sets it. */
  onEnd: (() => void) | undefined;
  running = true;

  constructor(call: AcceptedCall, host: ActiveCallHost) {
    this.#call = call;
    this.#host = host;
  }

  get caller(): Caller | undefined {
    const { caller } = this.#call;
    if (caller !== undefined) this.#caller ??= engineResult(caller) as Caller;
    return this.#caller;
  }
  get job(): RunningJob | undefined {
    const { job } = this.#call;
    if (job !== undefined)
      this.#job ??= new RunningJob(job, (request) => {
        // After an abort, no report is sent, because the engine rejects reports of an aborted attempt.
        if (this.running && this.#abortReason === undefined) this.#host.notify(request, this);
      });
    return this.#job;
  }
  get metadata(): unknown {
    return this.#call.metadata;
  }
  get invocationId(): string {
    return this.#call.invocationId;
  }
  get functionId(): string {
    return this.#call.functionId;
  }
  get invocation_id(): string {
    deprecated("the member invocation_id of a handler's context", "invocationId");
    return this.invocationId;
  }
  get function_id(): string {
    deprecated("the member function_id of a handler's context", "functionId");
    return this.functionId;
  }
  get traceparent(): string | undefined {
    return this.#call.traceparent;
  }
  get baggage(): string | undefined {
    return this.#call.baggage;
  }

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.#abortReason !== undefined) this.#controller.abort(this.#abortReason);
    }
    return this.#controller.signal;
  }

  get activeCall(): this {
    return this;
  }

  get baggageEntry(): CallContext["baggageEntry"] {
    return (name) => readBaggage(this.baggage).get(name);
  }

  get log(): Logger {
    this.#log ??= this.#host.loggerOf(this);
    return this.#log;
  }

  /** Returns a bound function, so that handlers may destructure the context. */
  get span(): CallContext["span"] {
    this.#span ??= (name, body, options = {}) => this.#host.span(this, name, body, options);
    return this.#span;
  }

  /** Returns a bound function, so that handlers may destructure the context: `({ call }) => ...`. */
  get call(): CallContext["call"] {
    this.#start ??= <Result = Inferred, const Id extends string = string>(request: CallRequest<Id>) =>
      this.#host.startCall(request as CallRequest, this, request.signal ?? this.signal) as Promise<
        ResultType<Result, Id>
      >;
    return this.#start;
  }

  get state(): WorkerState {
    this.#state ??= new WorkerState({ call: this.call, channels: this.#host.channels }, this.#host.stateTransfer);
    return this.#state;
  }

  get stream(): WorkerStream {
    this.#stream ??= new WorkerStream({ call: this.call, channels: this.#host.channels });
    return this.#stream;
  }

  get event(): WorkerEvent {
    this.#event ??= new WorkerEvent({ call: this.call, channels: this.#host.channels });
    return this.#event;
  }

  get queue(): WorkerQueue {
    this.#queue ??= workerQueue({ call: this.call, channels: this.#host.channels }, this.#host.queueAndCron);
    return this.#queue;
  }

  get cron(): WorkerCron {
    this.#cron ??= workerCron({ call: this.call, channels: this.#host.channels }, this.#host.queueAndCron);
    return this.#cron;
  }

  /**
   * The result to send if the handler returns undefined. It is undefined (no result is sent) if the handler used a
   * writable channel that came with the call: then the response goes over that channel, as for an HTTP request. It is
   * null if such a channel exists and the handler did not use it.
   */
  get emptyResult(): null | undefined {
    const writers = this.#call.ends?.filter((end) => end.ref.direction === "write") ?? [];
    return writers.length > 0 && !writers.some((end) => end.wasUsed) ? null : undefined;
  }

  abort(reason: string): void {
    if (this.#abortReason !== undefined) return;
    const code = reason === "disconnected" ? "disconnected" : "call_cancelled";
    this.#abortReason = new CallError(
      code,
      `the call of function ${this.functionId} ended before its handler did: ${reason}`,
      { details: { reason } },
    );
    this.#controller?.abort(this.#abortReason);
    for (const end of this.#call.ends ?? []) end.breakOff(this.#abortReason);
  }

  end(): void {
    this.running = false;
    this.onEnd?.();
  }
}
