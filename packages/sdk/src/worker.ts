import { CallError, type ChannelRef } from "@svc/protocol";
import type { Active, ActiveCall, Ambient } from "./active-call.ts";
import { Backoff } from "./backoff.ts";
import { CallRunner } from "./call-runner.ts";
import type { CallRequest, EnqueueReceipt, EnqueueRequest, Handler, Inferred, PayloadOf, ResultOf, ResultType } from "./calls.ts";
import type { ChannelReader, ReadRef } from "./channels/channel-reader.ts";
import type { ChannelWriter, WriteRef } from "./channels/channel-writer.ts";
import { type Channel, type ChannelOptions, Channels } from "./channels/channels.ts";
import type { Clock } from "./clock.ts";
import { connected } from "./connected.ts";
import { Connection, type ConnectionState, notConnected } from "./connection.ts";
import { WorkerCron } from "./cron/worker-cron.ts";
import { WorkerEvent } from "./event/worker-event.ts";
import type { Functions } from "./functions.ts";
import type { HttpFunction } from "./http-function.ts";
import { introductionOf } from "./introduction.ts";
import { type JsonCallRequest, JsonPayload } from "./json-call.ts";
import { type Logger, unthrowing } from "./logger.ts";
import type { WorkerOptions } from "./options.ts";
import { MAX_BACKLOG_BYTES, OutgoingCalls } from "./outgoing-calls.ts";
import { OwnRegistrations } from "./own-registrations.ts";
import type { Platform } from "./platform.ts";
import { WorkerQueue } from "./queue/worker-queue.ts";
import { nameRefusal, timeoutProblem } from "./refusals.ts";
import type { ConfigFor, FunctionOptions, HandFormat, Registration, ResultFor, TriggerTypeInput } from "./registration-options.ts";
import type { Format, OutputOf, ZodSchema } from "./schema.ts";
import { Session } from "./session.ts";
import { quiet, within } from "./shutdown.ts";
import { WorkerState } from "./state/worker-state.ts";
import { WorkerStream } from "./stream/worker-stream.ts";
import type { Span, SpanOptions } from "./telemetry/own-span.ts";
import { telemetryOf } from "./telemetry/telemetry-options.ts";
import { workerLogger } from "./telemetry/worker-logger.ts";
import { WorkerTelemetry } from "./telemetry/worker-telemetry.ts";
import { type TriggerHandlers, TriggerProviders } from "./trigger-providers.ts";
import { type TriggerTypeRef, triggerTypeRef } from "./trigger-type-ref.ts";
import { type RegisteredTrigger, type TriggerInput, Triggers } from "./triggers.ts";

/** Bytes of answers that may wait besides; above it the engine counts as stuck and the connection is made anew. */
const STUCK_BACKLOG_BYTES = 4 * MAX_BACKLOG_BYTES;
const DEFAULT_SHUTDOWN_TIMEOUT_MS = 10_000;
/** How long a shutdown waits for the engine to read that the functions are unregistered. An engine that hangs does not hold it up longer. */
const DRAIN_TIMEOUT_MS = 3_000;

export interface WaitOptions {
  readonly timeout_ms?: number | undefined;
}

/** A worker's connection to the engine. Made by `connect`. */
export class Worker {
  readonly name: string;
  /** Values by scope and key, shared by all workers (module `svc-state`). */
  readonly state: WorkerState;
  /** Items whose changes reach everyone who has joined their group (module `svc-stream`). */
  readonly stream: WorkerStream;
  /** Events by topic, for whoever listens at that moment (module `svc-event`). */
  readonly event: WorkerEvent;
  /** Durable jobs (module `svc-queue`). */
  readonly queue: WorkerQueue;
  /** What triggers of type `cron` do (module `svc-cron`). */
  readonly cron: WorkerCron;
  readonly #logger: Logger;
  readonly #telemetry: WorkerTelemetry;
  readonly #clock: Clock;
  readonly #ambient: Ambient;
  readonly #processIsEnding: () => boolean;
  readonly #session: Session;
  readonly #connection: Connection;
  readonly #runner: CallRunner;
  readonly #providers: TriggerProviders;
  readonly #triggers: Triggers;
  readonly #channels: Channels;
  readonly #own: OwnRegistrations;
  readonly #calls: OutgoingCalls;
  readonly #stateListeners = new Set<(state: ConnectionState) => void>();
  #id: string | undefined;
  #shutdown: Promise<void> | undefined;

  /** Not for users: `connect` makes workers. */
  constructor(address: string, options: WorkerOptions, platform: Platform) {
    const name = options.name ?? platform.name;
    const problem = nameRefusal(name, "the worker's name") ?? timeoutProblem(options.callTimeoutMs, "callTimeoutMs");
    if (problem !== undefined) throw new TypeError(problem);
    this.name = name;
    const logger = unthrowing(options.logger ?? platform.logger);
    const { clock, ambient, greeting } = platform;
    this.#clock = clock;
    this.#ambient = ambient;
    const on = telemetryOf(options.telemetry, platform.telemetry.variable, platform.telemetry.byDefault && (options.kind ?? "worker") === "worker");
    this.#telemetry = new WorkerTelemetry({
      name,
      on,
      clock,
      ambient,
      framework: greeting.framework,
      language: greeting.runtime === "node" ? "nodejs" : "webjs",
      pid: greeting.pid,
      figures: platform.figures,
      logger,
      // Made below; nothing is sent before it stands.
      socket: {
        send: (frame) => this.#connection.send(frame),
        bufferedBytes: () => this.#connection.bufferedBytes,
      },
    });
    const { logEntries } = this.#telemetry;
    this.#logger = workerLogger(logger, { worker: name, traceparent: () => ambient.headers(ambient.current())?.traceparent }, logEntries);
    this.#processIsEnding = platform.processIsEnding ?? (() => false);
    this.#session = new Session({
      introduction: introductionOf(name, options, platform.greeting, on.logs),
      newId: platform.newId,
      callTimeoutMs: options.callTimeoutMs,
      output: {
        send: (frame) => this.#send(frame),
        registered: (workerId, takesTelemetry) => {
          this.#id = workerId;
          this.#connection.confirmed();
          if (takesTelemetry) this.#telemetry.registered(workerId);
        },
        run: (call) => this.#runner.run(call.mayHoldChannels ? { ...call, ...this.#channels.revive(call.payload) } : call),
        cancel: (invocationId, reason) => this.#runner.cancel(invocationId, reason),
        bind: (binding) => this.#providers.bind(binding),
        unbind: (binding) => this.#providers.unbind(binding),
        triggerResult: (id, result) => this.#triggers.settle(id, result),
        log: (level, message, fields) => this.#logger[level](message, fields),
      },
    });
    this.#connection = new Connection({
      address,
      openSocket: platform.openSocket,
      clock: platform.clock,
      backoff: new Backoff(options.reconnect, platform.random),
      logger: this.#logger,
      events: {
        opened: () => this.#session.opened(this.#clock.monotonicMs()),
        message: (text) => this.#session.received(text),
        lost: () => {
          this.#telemetry.disconnected();
          this.#session.closed();
        },
        state: (state) => this.#onState(state),
      },
    });
    this.#channels = new Channels({ address, openSocket: platform.openChannelSocket, clock: platform.clock });
    this.#runner = new CallRunner({
      ambient: platform.ambient,
      host: {
        loggerOf: (call) => {
          const traceparent = (): string | undefined => ambient.headers(this.#within(call))?.traceparent;
          return workerLogger(logger, { worker: name, functionId: call.function_id, invocationId: call.invocation_id, traceparent }, logEntries);
        },
        channels: this.#channels,
        startCall: (request, call, signal) => this.#calls.start(request, undefined, this.#within(call), signal),
        span: (call, spanName, body, spanOptions) => this.#telemetry.span(spanName, body, spanOptions, this.#within(call)),
      },
      answers: {
        answer: (invocationId, result) => this.#session.answer(invocationId, result),
        fail: (invocationId, error) => this.#session.fail(invocationId, error.toWire()),
      },
    });
    this.#providers = new TriggerProviders({ logger: this.#logger, answer: (binding, error) => this.#session.answerBinding(binding, error) });
    this.#triggers = new Triggers({ session: this.#session, clock: platform.clock, logger: this.#logger });
    this.#own = new OwnRegistrations({ session: this.#session, runner: this.#runner, providers: this.#providers });
    this.#calls = new OutgoingCalls({
      session: this.#session,
      connection: this.#connection,
      ambient,
      clock,
      isShuttingDown: () => this.#shutdown !== undefined,
    });
    const helpers = { call: (request: CallRequest) => this.call<unknown>(request), channels: this.#channels };
    this.state = new WorkerState(helpers);
    this.stream = new WorkerStream(helpers);
    this.event = new WorkerEvent(helpers);
    this.queue = new WorkerQueue(helpers);
    this.cron = new WorkerCron(helpers);
    this.#connection.start();
  }

  /** The id that the engine gave the present connection, or the last one; undefined before the first. New on every connect. */
  get id(): string | undefined {
    return this.#id;
  }

  get connectionState(): ConnectionState {
    return this.#connection.state;
  }

  /** Tells of each change of the connection's state from now on. Returns how to stop that. */
  onConnectionState(listener: (state: ConnectionState) => void): () => void {
    // Wrapped, so that one function given twice is two listeners, each undone on its own.
    const entry = (state: ConnectionState): void => listener(state);
    this.#stateListeners.add(entry);
    return () => {
      this.#stateListeners.delete(entry);
    };
  }

  /**
   * Resolves when the engine has greeted this worker. Rejects with `disconnected` after `timeout_ms` (default 30,000), and when
   * the worker gives up or is shut down; not when a signal ends the process. `details` has `status` (HTTP) and `engine_message` when the
   * engine refused the connection. Calls and registrations need not wait for it.
   */
  connected(options: WaitOptions = {}): Promise<void> {
    return connected(this.#connection, (listener) => this.onConnectionState(listener), this.#clock, {
      timeoutMs: options.timeout_ms,
      processIsEnding: this.#processIsEnding,
    });
  }

  /**
   * Makes `handler` callable as `id`, now and after every reconnect. A zod `request_format` types its input and refuses other
   * payloads with `invalid_input` before it runs. Throws TypeError for an id that is empty, over 256 bytes, holds a control
   * character or is taken by this worker, and for a format that is neither a zod 4 schema nor JSON Schema.
   */
  registerFunction<Request extends ZodSchema, const Response extends Format | undefined = undefined>(
    id: string,
    handler: Handler<OutputOf<Request>, ResultFor<Response>>,
    options: FunctionOptions<Request, Response> & { readonly request_format: Request },
  ): Registration;
  registerFunction<Id extends keyof Functions & string>(
    id: Id,
    handler: Handler<PayloadOf<Id>, ResultOf<Id>>,
    options?: FunctionOptions<HandFormat>,
  ): Registration;
  registerFunction<Input = unknown>(id: string, handler: Handler<Input>, options?: FunctionOptions<HandFormat>): Registration;
  /** A function that the engine calls over HTTP; it does not run in this worker and lives as long as the worker's connection. */
  registerFunction(id: string, elsewhere: HttpFunction, options?: FunctionOptions): Registration;
  registerFunction(id: string, handler: Handler<never> | HttpFunction, options: FunctionOptions = {}): Registration {
    this.#requireOpen();
    return this.#own.addFunction(id, handler, options);
  }

  /**
   * Binds a function to an occasion, now and after every reconnect. `registered` never rejects: it resolves with the engine's
   * first word on it (`active`, `inactive` or `error` with the reason). Throws TypeError for a bad type or function id.
   */
  registerTrigger<const Type extends string>(trigger: TriggerInput<Type>): RegisteredTrigger {
    this.#requireOpen();
    return this.#triggers.register(trigger as TriggerInput);
  }

  /**
   * Provides a trigger type. The handlers bind; to fire, call the binding's `function_id`, with the binding's `metadata`. A zod
   * `trigger_request_format` types the bindings' config and refuses those that do not fit. Throws TypeError as `registerFunction` does.
   */
  registerTriggerType<const Config extends Format | undefined = undefined, const Call extends Format | undefined = undefined>(
    type: TriggerTypeInput<Config, Call>,
    handlers: TriggerHandlers<ConfigFor<Config>>,
  ): TriggerTypeRef<Config, Call> {
    this.#requireOpen();
    return triggerTypeRef(this, type.id, this.#own.addTriggerType(type, handlers as TriggerHandlers));
  }

  /**
   * Calls a function and resolves to its result. Rejects with CallError, always by its deadline. While not connected the call
   * waits for the connection (1,000 at most). A call that was sent is never sent again: at most once.
   */
  call<Result = Inferred, const Id extends string = string>(request: CallRequest<Id>): Promise<ResultType<Result, Id>> {
    return this.#calls.start(request as CallRequest, undefined, this.#ambient.current(), request.signal) as Promise<ResultType<Result, Id>>;
  }

  /**
   * As `call`, with the payload and the result as JSON text, so that every digit of a number arrives: sends the text as it is, and resolves to the
   * text that came, `null` for a function that answers nothing. Rejects with `invalid_input` for a payload that is not JSON.
   */
  async callJson({ payload = "null", ...request }: JsonCallRequest): Promise<string> {
    const call = { ...request, payload: new JsonPayload(payload, request.function_id) };
    return (await this.#calls.start(call, undefined, this.#ambient.current(), request.signal)) as string;
  }

  /** Calls a function and wants no answer. Resolves when the call was written; whether it arrives and how it ends is not told. */
  async callVoid<const Id extends string = string>(request: CallRequest<Id>): Promise<void> {
    await this.#calls.start(request as CallRequest, { type: "void" }, this.#ambient.current(), request.signal);
    await this.#connection.flushed();
  }

  /** As `callVoid`, with the payload as JSON text, which is sent as it is. Rejects with `invalid_input` for a payload that is not JSON. */
  async callVoidJson({ payload = "null", ...request }: JsonCallRequest): Promise<void> {
    await this.callVoid({ ...request, payload: new JsonPayload(payload, request.function_id) });
  }

  /** Puts a call on a queue. Resolves when the engine has accepted the job. */
  enqueue<const Id extends string = string>(request: EnqueueRequest<Id>): Promise<EnqueueReceipt> {
    const action = { type: "enqueue", queue: request.queue } as const;
    const problem = nameRefusal(request.queue, "the queue's name");
    if (problem !== undefined) return Promise.reject(new CallError("invalid_name", problem));
    return this.#calls.start(request as CallRequest, action, this.#ambient.current(), request.signal) as Promise<EnqueueReceipt>;
  }

  /**
   * Makes a channel: an ordered, bounded stream of items from one writer to one reader, each here or in any other worker. Rejects
   * with CallError as `call` does.
   */
  async createChannel(options: ChannelOptions = {}): Promise<Channel> {
    const payload = options.bufferItems === undefined ? {} : { buffer_size: options.bufferItems };
    return this.#channels.created(await this.call<unknown>({ function_id: "engine::channels::create", payload }));
  }

  /** An end of a channel whose ref came in the result of a call; in what handlers receive, refs are ends already. Throws TypeError for what is no ref. */
  openChannel(ref: ReadRef): ChannelReader;
  openChannel(ref: WriteRef): ChannelWriter;
  openChannel(ref: ChannelRef): ChannelReader | ChannelWriter;
  openChannel(ref: ChannelRef): ChannelReader | ChannelWriter {
    return this.#channels.end(ref);
  }

  /** Its lines carry the worker's name and, inside handlers and spans on Node, the span. In handlers `context.log` says more. */
  get log(): Logger {
    return this.#logger;
  }

  /**
   * Runs `body` and records it as a span, to the end of the promise that it may give: below the call or span in which it runs, on Node, else as the
   * beginning of a trace. What it throws is recorded and thrown on. In browsers calls do not hang below it by themselves.
   */
  span<Result>(name: string, body: (span: Span) => Result, options: SpanOptions = {}): Result {
    return this.#telemetry.span(name, body, options, this.#ambient.current());
  }

  /**
   * Unregisters the functions, finishes the calls that the engine has sent and the channels that are connected, then closes; after
   * `timeout_ms` (default 10,000) it closes anyway. New calls are refused with `draining`, except those that handlers in hand make. Triggers stay with the engine, which holds
   * them a while for the worker's return. Never rejects; a second call gives the same promise.
   */
  shutdown(options: WaitOptions = {}): Promise<void> {
    this.#shutdown ??= this.#shutDown(options.timeout_ms ?? DEFAULT_SHUTDOWN_TIMEOUT_MS);
    return this.#shutdown;
  }

  async #shutDown(timeoutMs: number): Promise<void> {
    const drained = this.#session.drain();
    if (this.connectionState === "reconnecting")
      this.#session.failAll(notConnected(this.#connection, "the worker was shut down while it was not connected to"));
    const timeUp = new AbortController();
    const finished = within(this.#clock, DRAIN_TIMEOUT_MS, drained).then(() =>
      quiet(() => [...this.#runner.ends(), ...this.#session.callEnds(), ...this.#channels.ends()], timeUp.signal),
    );
    await within(this.#clock, timeoutMs, finished);
    timeUp.abort();
    this.#session.failAll(new CallError("disconnected", "the worker was shut down before the call was answered"));
    this.#channels.close();
    this.#telemetry.flush();
    await this.#connection.stop();
    this.#triggers.close();
    this.#calls.stop();
    await within(this.#clock, timeoutMs, this.#providers.settled());
  }

  #requireOpen(): void {
    if (this.#shutdown !== undefined) throw new CallError("draining", "the worker is shutting down or was shut down; nothing can be registered any more");
  }

  /** What runs just now of a call: a span within it, or the call itself. */
  #within(call: ActiveCall): Active {
    const current = this.#ambient.current();
    return current?.activeCall === call ? current : call;
  }

  #send(frame: string): void {
    this.#connection.send(frame);
    if (this.#connection.bufferedBytes > STUCK_BACKLOG_BYTES) this.#connection.drop(`over ${STUCK_BACKLOG_BYTES} bytes wait and the engine does not read them`);
  }

  #onState(state: ConnectionState): void {
    if (state === "connected") this.#logger.info("connected to the engine", { address: this.#connection.shownAddress, worker_id: this.#id });
    if (state === "failed") this.#session.failAll(notConnected(this.#connection, "gave up connecting to"));
    for (const listener of [...this.#stateListeners]) {
      try {
        listener(state);
      } catch (error) {
        this.#logger.error("a connection state listener failed", { state, error });
      }
    }
  }
}
