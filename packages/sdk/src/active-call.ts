import { CallError, type Caller, type Job } from "@svc/protocol";
import type { CallContext, CallRequest, Inferred, ResultType } from "./calls.ts";
import type { Channels } from "./channels/channels.ts";
import { WorkerCron } from "./cron/worker-cron.ts";
import { WorkerEvent } from "./event/worker-event.ts";
import type { Logger } from "./logger.ts";
import { WorkerQueue } from "./queue/worker-queue.ts";
import type { AcceptedCall } from "./session.ts";
import { WorkerState } from "./state/worker-state.ts";
import { WorkerStream } from "./stream/worker-stream.ts";
import { readBaggage } from "./telemetry/baggage.ts";
import type { Span, SpanOptions } from "./telemetry/own-span.ts";
import type { TraceHeaders } from "./telemetry/trace-context.ts";

/** What runs just now: a call that a handler has in hand, or a span within one or outside of any. Calls made meanwhile hang below it. */
export interface Active extends TraceHeaders {
  readonly activeCall: ActiveCall | undefined;
  /** Whether its call is still in hand. */
  readonly running: boolean;
}

/** What an active call needs of its worker. */
export interface ActiveCallHost {
  loggerOf(call: ActiveCall): Logger;
  span<Result>(call: ActiveCall, name: string, body: (span: Span) => Result, options: SpanOptions): Result;
  readonly channels: Pick<Channels, "created" | "end">;
  startCall(request: CallRequest, parent: ActiveCall, signal: AbortSignal): Promise<unknown>;
}

/** A call that a handler has in hand. What few handlers use (signal, log, call, state, stream, ...) is made when first asked for. */
export class ActiveCall implements CallContext, Active {
  readonly #host: ActiveCallHost;
  readonly #call: AcceptedCall;
  #controller: AbortController | undefined;
  #abortReason: CallError | undefined;
  #log: Logger | undefined;
  #start: CallContext["call"] | undefined;
  #span: CallContext["span"] | undefined;
  #state: WorkerState | undefined;
  #stream: WorkerStream | undefined;
  #event: WorkerEvent | undefined;
  #queue: WorkerQueue | undefined;
  #cron: WorkerCron | undefined;
  /** Set by whoever waits for this call to be over. */
  onEnd: (() => void) | undefined;
  running = true;

  constructor(call: AcceptedCall, host: ActiveCallHost) {
    this.#call = call;
    this.#host = host;
  }

  get caller(): Caller | undefined {
    return this.#call.caller;
  }
  get job(): Job | undefined {
    return this.#call.job;
  }
  get metadata(): unknown {
    return this.#call.metadata;
  }
  get invocation_id(): string {
    return this.#call.invocationId;
  }
  get function_id(): string {
    return this.#call.functionId;
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

  /** A function of its own, so that handlers may take it out of the context. */
  get span(): CallContext["span"] {
    this.#span ??= (name, body, options = {}) => this.#host.span(this, name, body, options);
    return this.#span;
  }

  /** A function of its own, so that handlers may take it out of the context: `({ call }) => ...`. */
  get call(): CallContext["call"] {
    this.#start ??= <Result = Inferred, const Id extends string = string>(request: CallRequest<Id>) =>
      this.#host.startCall(request as CallRequest, this, request.signal ?? this.signal) as Promise<ResultType<Result, Id>>;
    return this.#start;
  }

  get state(): WorkerState {
    this.#state ??= new WorkerState({ call: this.call, channels: this.#host.channels });
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
    this.#queue ??= new WorkerQueue({ call: this.call, channels: this.#host.channels });
    return this.#queue;
  }

  get cron(): WorkerCron {
    this.#cron ??= new WorkerCron({ call: this.call, channels: this.#host.channels });
    return this.#cron;
  }

  /**
   * What an undefined result means. A call that brought a channel to write to, such as an HTTP request, may be answered over that
   * channel, and an answer without a result says so; a handler that left it alone has answered with nothing.
   */
  get emptyResult(): null | undefined {
    const writers = this.#call.ends?.filter((end) => end.ref.direction === "write") ?? [];
    return writers.length > 0 && !writers.some((end) => end.wasUsed) ? null : undefined;
  }

  abort(reason: string): void {
    if (this.#abortReason !== undefined) return;
    const code = reason === "disconnected" ? "disconnected" : "call_cancelled";
    this.#abortReason = new CallError(code, `the call of function ${this.function_id} ended before its handler did: ${reason}`, { details: { reason } });
    this.#controller?.abort(this.#abortReason);
    for (const end of this.#call.ends ?? []) end.breakOff(this.#abortReason);
  }

  end(): void {
    this.running = false;
    this.onEnd?.();
  }
}

/** Carries what runs through asynchronous code, where the platform can. */
export interface Ambient {
  run<Args extends readonly unknown[], Result>(active: Active, body: (...args: Args) => Result, ...args: Args): Result;
  current(): Active | undefined;
  /** Trace context of what is made just now below `active`: its own, or that of a span of an outside tracer which hangs below it. */
  headers(active: Active | undefined): TraceHeaders | undefined;
}

export const noAmbient: Ambient = {
  run: (_active, body, ...args) => body(...args),
  current: () => undefined,
  headers: (active) => active,
};
