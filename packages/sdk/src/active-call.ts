import { CallError, type Caller, type Job } from "@svc/protocol";
import type { CallContext, CallRequest, Inferred, ResultType } from "./calls.ts";
import type { Channels } from "./channels/channels.ts";
import { WorkerCron } from "./cron/worker-cron.ts";
import { WorkerEvent } from "./event/worker-event.ts";
import { type Logger, withFields } from "./logger.ts";
import { WorkerQueue } from "./queue/worker-queue.ts";
import type { AcceptedCall } from "./session.ts";
import { WorkerState } from "./state/worker-state.ts";
import { WorkerStream } from "./stream/worker-stream.ts";

/** What an active call needs of its worker. */
export interface ActiveCallHost {
  readonly logger: Logger;
  readonly channels: Pick<Channels, "created" | "end">;
  startCall(request: CallRequest, parent: ActiveCall, signal: AbortSignal): Promise<unknown>;
}

/** A call that a handler has in hand. What few handlers use (signal, log, call, state, stream, ...) is made when first asked for. */
export class ActiveCall implements CallContext {
  readonly #host: ActiveCallHost;
  readonly #call: AcceptedCall;
  #controller: AbortController | undefined;
  #abortReason: CallError | undefined;
  #log: Logger | undefined;
  #start: CallContext["call"] | undefined;
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

  get log(): Logger {
    this.#log ??= withFields(this.#host.logger, {
      function_id: this.function_id,
      invocation_id: this.invocation_id,
      ...(this.traceparent === undefined ? undefined : { trace_id: this.traceparent.split("-")[1] }),
    });
    return this.#log;
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

/** Carries the call in hand through a handler's asynchronous code, where the platform can. */
export interface Ambient {
  run<Args extends readonly unknown[], Result>(call: ActiveCall, body: (...args: Args) => Result, ...args: Args): Result;
  current(): ActiveCall | undefined;
}

export const noAmbient: Ambient = {
  run: (_call, body, ...args) => body(...args),
  current: () => undefined,
};
