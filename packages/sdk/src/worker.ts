import { CallError, type ChannelRef } from "@svc-runtime/protocol/client";
import type { AsyncContext } from "./calls/async-context.ts";
import type { Handler } from "./calls/call-context.ts";
import {
  type CallRequest,
  type EnqueueReceipt,
  type EnqueueRequest,
  functionIdOf,
  type Inferred,
  type PayloadOf,
  type ResultOf,
  type ResultType,
} from "./calls/call-request.ts";
import { type JsonCallRequest, JsonPayload } from "./calls/json-call.ts";
import { enqueueMembers, MAX_BACKLOG_BYTES, OutgoingCalls } from "./calls/outgoing-calls.ts";
import type { ReadRef, WriteRef } from "./channels/channel-host.ts";
import type { ChannelReader } from "./channels/channel-reader.ts";
import type { ChannelWriter } from "./channels/channel-writer.ts";
import { type Channel, type ChannelOptions, Channels, channelOptions } from "./channels/channels.ts";
import type { Clock } from "./clock.ts";
import { Backoff } from "./connection/backoff.ts";
import { Connection, type ConnectionState, notConnected } from "./connection/connection.ts";
import { introductionOf } from "./connection/introduction.ts";
import type { LeaveEngine } from "./connection/leave-engine.ts";
import { Session } from "./connection/session.ts";
import { waitConnected } from "./connection/wait-connected.ts";
import { type WorkerCron, workerCron } from "./cron/worker-cron.ts";
import { WorkerEvent } from "./event/worker-event.ts";
import type { BodyIn, HttpRequestHandler } from "./http/http-handler.ts";
import { WorkerHttp } from "./http/worker-http.ts";
import { Listeners } from "./listeners.ts";
import { type Logger, safeLogger } from "./logger.ts";
import { checkedOptions } from "./names/option-names.ts";
import { OnDemand } from "./on-demand.ts";
import { type WaitOptions, type WorkerOptions, waitOptions } from "./options.ts";
import type { Platform } from "./platform.ts";
import { type WorkerQueue, workerQueue } from "./queue/worker-queue.ts";
import { nameRefusal, timeoutProblem } from "./refusals.ts";
import type { Functions } from "./registration/functions.ts";
import type { HttpFunction } from "./registration/http-function.ts";
import { OwnRegistrations } from "./registration/own-registrations.ts";
import type {
  ConfigFor,
  FunctionOptions,
  Registration,
  ResultFor,
  ShownFormat,
  TriggerTypeInput,
} from "./registration/registration-options.ts";
import type { TriggerHandlers } from "./registration/trigger-providers.ts";
import { type TriggerTypeRef, triggerTypeRef } from "./registration/trigger-type-ref.ts";
import { type RegisteredTrigger, type TriggerInput, Triggers } from "./registration/triggers.ts";
import type { Format } from "./schema/schema.ts";
import type { OutputOf, StandardSchema } from "./schema/standard-schema.ts";
import { whenIdle, within } from "./shutdown.ts";
import { WorkerState } from "./state/worker-state.ts";
import { WorkerStream } from "./stream/worker-stream.ts";
import type { Span, SpanOptions } from "./telemetry/span.ts";
import { Spans } from "./telemetry/spans.ts";
import { telemetryOf } from "./telemetry/telemetry-options.ts";
import type { TelemetrySink, TelemetrySinkOptions } from "./telemetry/telemetry-sink.ts";
import { workerLogger } from "./telemetry/worker-logger.ts";

/**
 * Maximum number of unsent bytes, including results. If there are more, the engine is considered stuck, and the worker
 * reconnects.
 */
const STUCK_BACKLOG_BYTES = 4 * MAX_BACKLOG_BYTES;
const DEFAULT_SHUTDOWN_TIMEOUT_MS = 10_000;
/**
 * Maximum time to wait until the engine has read the unregistration of the functions, in milliseconds. It is limited,
 * so that an engine that hangs does not delay the shutdown longer.
 */
const DRAIN_TIMEOUT_MS = 3_000;

type FrameTexts = typeof import("./connection/frame-texts.ts");

/** A worker's connection to the engine. Created by `connect`. */
export class Worker {
  readonly name: string;
  /** Durable values by scope and key, shared by all workers (module `svc-state`). */
  readonly state: WorkerState;
  /** Items that clients watch live (module `svc-stream`). */
  readonly stream: WorkerStream;
  /** Events for the triggers that are subscribed now (module `svc-event`). */
  readonly event: WorkerEvent;
  /** Durable jobs (module `svc-queue`). */
  readonly queue: WorkerQueue;
  /** Schedules of the `cron` triggers (module `svc-cron`). */
  readonly cron: WorkerCron;
  /** Routes with checked and typed requests (module `svc-http`). */
  readonly http: WorkerHttp;
  readonly #logger: Logger;
  readonly #telemetry: TelemetrySink | undefined;
  readonly #spans: Spans;
  readonly #clock: Clock;
  readonly #asyncContext: AsyncContext;
  readonly #processIsEnding: () => boolean;
  readonly #session: Session;
  readonly #connection: Connection;
  readonly #frameTexts: OnDemand<FrameTexts, FrameTexts>;
  readonly #triggers: Triggers;
  readonly #channels: Channels;
  readonly #own: OwnRegistrations;
  readonly #calls: OutgoingCalls;
  readonly #stateListeners = new Listeners<[state: ConnectionState]>();
  #id: string | undefined;
  readonly #leaving: LeaveEngine | undefined;
  #shutdown: Promise<void> | undefined;

  /** Internal: created by `connect`. */
  constructor([address = "", ...further]: readonly string[], options: WorkerOptions, platform: Platform) {
    const name = options.name ?? platform.name;
    const problem = nameRefusal(name, "the worker's name") ?? timeoutProblem(options.callTimeoutMs, "callTimeoutMs");
    if (problem !== undefined) throw new TypeError(problem);
    this.name = name;
    const logger = safeLogger(options.logger ?? platform.logger);
    const { clock, asyncContext, runtimeInfo } = platform;
    this.#clock = clock;
    this.#asyncContext = asyncContext;
    const on = telemetryOf(
      options.telemetry,
      platform.telemetry.variable,
      platform.telemetry.byDefault && (options.kind ?? "worker") === "worker",
    );
    const sendsTelemetry = on.logs || on.spans || on.metrics;
    const telemetryOptions: TelemetrySinkOptions = {
      name,
      on,
      clock,
      framework: runtimeInfo.framework,
      language: runtimeInfo.runtime === "node" ? "nodejs" : "webjs",
      pid: runtimeInfo.pid,
      stats: platform.stats,
      logger,
      // The functions use the connection, which is created below. They are not called before that.
      socket: {
        send: (frame) => this.#connection.send(frame),
        bufferedBytes: () => this.#connection.bufferedBytes,
      },
    };
    const telemetry = sendsTelemetry ? platform.telemetry.createSink(telemetryOptions) : undefined;
    this.#telemetry = telemetry;
    const logEntries = on.logs && telemetry !== undefined ? telemetry.log.bind(telemetry) : undefined;
    const record = on.spans && telemetry !== undefined ? telemetry.span.bind(telemetry) : undefined;
    this.#spans = new Spans(asyncContext, clock, record);
    this.#logger = workerLogger(
      logger,
      { worker: name, traceparent: () => asyncContext.headers(asyncContext.current())?.traceparent },
      logEntries,
    );
    this.#processIsEnding = platform.processIsEnding ?? (() => false);
    this.#session = new Session({
      introduction: introductionOf(name, options, platform.runtimeInfo, on.logs),
      newId: platform.newId,
      callTimeoutMs: options.callTimeoutMs,
      output: {
        send: (frame) => this.#send(frame),
        registered: (workerId, takesTelemetry) => {
          this.#id = workerId;
          this.#connection.confirmed();
          if (takesTelemetry) this.#telemetry?.registered(workerId);
        },
        call: (call) => this.#own.call(call),
        cancelCall: (invocationId, reason) => this.#own.cancelCall(invocationId, reason),
        bind: (message) => this.#own.bind(message),
        unbind: (id) => this.#own.unbind(id),
        disconnected: () => this.#own.disconnected(),
        triggerResult: (id, result) => this.#triggers.settle(id, result),
        readMalformed: (frame, then) =>
          this.#frameTexts.run(
            ({ readMalformedFrame }) => then(readMalformedFrame(frame)),
            () => then(undefined),
          ),
        log: (level, message, fields) => this.#logger[level](message, fields),
      },
    });
    this.#connection = new Connection({
      address,
      further,
      openSocket: platform.openSocket,
      clock: platform.clock,
      backoff: new Backoff(options.reconnect, platform.random),
      logger: this.#logger,
      events: {
        opened: () => this.#session.opened(this.#clock.monotonicMs()),
        message: (text) => this.#leaving?.takes(text) || this.#session.received(text),
        lost: () => {
          this.#telemetry?.disconnected();
          this.#session.closed();
        },
        state: (state) => this.#onState(state),
      },
    });
    this.#channels = new Channels({
      address: () => this.#connection.address,
      streams: platform.channels,
      clock: platform.clock,
    });
    this.#frameTexts = new OnDemand(platform.frameTexts, (part) => part);
    this.#triggers = new Triggers({ session: this.#session, clock: platform.clock, logger: this.#logger });
    this.#calls = new OutgoingCalls({
      session: this.#session,
      connection: this.#connection,
      asyncContext,
      clock,
      isShuttingDown: () => this.#shutdown !== undefined,
    });
    this.#own = new OwnRegistrations(platform.provider, {
      name,
      userLogger: logger,
      logger: this.#logger,
      logEntries,
      asyncContext,
      queueAndCron: platform.queueAndCron,
      stateTransfer: platform.stateTransfer,
      session: this.#session,
      newId: platform.newId,
      channels: this.#channels,
      calls: this.#calls,
      spans: this.#spans,
    });
    this.#leaving = platform.leaving?.(this.#session, this.#connection, this.#own, further);
    const helpers = { call: (request: CallRequest) => this.call<unknown>(request), channels: this.#channels };
    this.state = new WorkerState(helpers, platform.stateTransfer);
    this.stream = new WorkerStream(helpers);
    this.event = new WorkerEvent(helpers);
    this.queue = workerQueue(helpers, platform.queueAndCron);
    this.cron = workerCron(helpers, platform.queueAndCron);
    this.http = new WorkerHttp(this, platform.http);
    this.#connection.start();
  }

  /**
   * Id that the engine assigned to the current connection. While there is no connection, it is that of the last one.
   * Undefined before the first connection. It changes with each connection.
   */
  get id(): string | undefined {
    return this.#id;
  }

  get connectionState(): ConnectionState {
    return this.#connection.state;
  }

  /** Calls `listener` on each change of the connection's state. Returns a function that removes the listener. */
  onConnectionState(listener: (state: ConnectionState) => void): () => void {
    return this.#stateListeners.add(listener);
  }

  /**
   * Resolves when the worker is connected. Calls and registrations do not need this, because they wait for the
   * connection. Rejects with `disconnected` in three cases: after `timeoutMs` milliseconds (default 30,000); when the
   * worker stops trying to connect; when it is shut down, unless a signal is ending the process. If the engine refused
   * the connection, `details` contains `status` (HTTP) and `engine_message`.
   */
  async connected(options: WaitOptions = {}): Promise<void> {
    const { timeoutMs } = checkedOptions(options, waitOptions("connected"));
    return waitConnected(this.#connection, (listener) => this.onConnectionState(listener), this.#clock, {
      timeoutMs,
      processIsEnding: this.#processIsEnding,
    });
  }

  /**
   * Makes `handler` callable as `id`, now and after each reconnect. If `requestFormat` is a Standard Schema (zod,
   * valibot, arktype), it gives the handler's input its type, and payloads that do not match are rejected with
   * `invalid_input` before the handler runs.
   *
   * @throws TypeError in three cases: the id is empty, over 256 bytes, contains a control character or is already
   * registered by this worker; a format is neither a Standard Schema nor JSON Schema; an option is unknown.
   */
  registerFunction<Request extends StandardSchema, const Response extends Format | undefined = undefined>(
    id: string,
    handler: Handler<OutputOf<Request>, ResultFor<Response>>,
    options: FunctionOptions<Request, Response> & { readonly requestFormat: Request },
  ): Registration;
  /**
   * Registers a handler of HTTP requests. The schema describes members of the request, for example `body`. Members that
   * are not in the schema are kept.
   */
  registerFunction<Request extends StandardSchema>(
    id: string,
    handler: HttpRequestHandler<BodyIn<OutputOf<Request>>>,
    options: FunctionOptions<Request> & { readonly requestFormat: Request },
  ): Registration;
  /** @deprecated Use `requestFormat`. */
  registerFunction<Request extends StandardSchema, const Response extends Format | undefined = undefined>(
    id: string,
    handler: Handler<OutputOf<Request>, ResultFor<Response>>,
    options: FunctionOptions<Request, Response> & { readonly request_format: Request },
  ): Registration;
  registerFunction<Id extends keyof Functions & string>(
    id: Id,
    handler: Handler<PayloadOf<Id>, ResultOf<Id>>,
    options?: FunctionOptions<ShownFormat | undefined>,
  ): Registration;
  registerFunction<Input = unknown>(
    id: string,
    handler: Handler<Input>,
    options?: FunctionOptions<ShownFormat | undefined>,
  ): Registration;
  /**
   * Registers a function that the engine calls over HTTP. It does not run in this worker. It is removed when the worker
   * disconnects.
   */
  registerFunction(id: string, handler: HttpFunction, options?: FunctionOptions): Registration;
  registerFunction(id: string, handler: Handler<never> | HttpFunction, options: FunctionOptions = {}): Registration {
    this.#requireOpen();
    return this.#own.addFunction(id, handler, options);
  }

  /**
   * Registers a trigger, now and after each reconnect. `registered` of the result never rejects. It resolves to the
   * first status (`active`, `inactive`, or `error` with the reason).
   *
   * @throws TypeError for an invalid type or function id, and for a member of the config that the type does not have.
   */
  registerTrigger<const Type extends string>(trigger: TriggerInput<Type>): RegisteredTrigger {
    this.#requireOpen();
    return this.#triggers.register(trigger as TriggerInput);
  }

  /**
   * Provides a trigger type. The handlers bind triggers of this type. To fire a trigger, call the binding's
   * `functionId` with the binding's `metadata`. If `triggerRequestFormat` is a Standard Schema, it gives the bindings'
   * config its type, and configs that do not match are rejected.
   *
   * @throws TypeError in the same cases as `registerFunction`.
   */
  registerTriggerType<
    const Config extends Format | undefined = undefined,
    const Call extends Format | undefined = undefined,
  >(type: TriggerTypeInput<Config, Call>, handlers: TriggerHandlers<ConfigFor<Config>>): TriggerTypeRef<Config, Call> {
    this.#requireOpen();
    const unregister = this.#own.addTriggerType(type, handlers as TriggerHandlers);
    return triggerTypeRef(this, type.id, unregister);
  }

  /**
   * Calls a function and resolves to its result. Rejects with CallError, at the deadline at the latest. While the
   * worker is not connected, up to 1,000 calls wait for the connection. A call that was sent is never sent again, so it
   * runs at most once.
   */
  call<Result = Inferred, const Id extends string = string>(request: CallRequest<Id>): Promise<ResultType<Result, Id>> {
    return this.#calls.start(
      request as CallRequest,
      undefined,
      this.#asyncContext.current(),
      request.signal,
    ) as Promise<ResultType<Result, Id>>;
  }

  /**
   * Like `call`, but with payload and result as JSON text, so that no digit of a number is lost. Sends the text
   * unchanged and resolves to the text that was received, or to `null` if the function returned nothing. Rejects with
   * `invalid_input` if the payload is not JSON.
   */
  async callJson({ payload = "null", ...request }: JsonCallRequest): Promise<string> {
    const call = { ...request, payload: new JsonPayload(payload, functionIdOf(request)) };
    const parent = this.#asyncContext.current();
    return this.#frameTexts.use(async ({ memberTexts }) => {
      const frame = (await this.#calls.start(call, undefined, parent, request.signal)) as string;
      return memberTexts(frame).get("result") ?? "null";
    });
  }

  /**
   * Calls a function without waiting for its result. Resolves when the call was sent. The worker does not learn whether
   * it arrived or succeeded.
   */
  async callVoid<const Id extends string = string>(request: CallRequest<Id>): Promise<void> {
    await this.#calls.start(request as CallRequest, { type: "void" }, this.#asyncContext.current(), request.signal);
    await this.#connection.flushed();
  }

  /**
   * Like `callVoid`, but with the payload as JSON text, which is sent unchanged. Rejects with `invalid_input` if it is
   * not JSON.
   */
  async callVoidJson({ payload = "null", ...request }: JsonCallRequest): Promise<void> {
    await this.callVoid({ ...request, payload: new JsonPayload(payload, functionIdOf(request)) });
  }

  /** Adds a call to a queue. Resolves when the engine has accepted the job. */
  enqueue<const Id extends string = string>(request: EnqueueRequest<Id>): Promise<EnqueueReceipt> {
    const action = { type: "enqueue", queue: request.queue } as const;
    const problem = nameRefusal(request.queue, "the queue's name");
    if (problem !== undefined) return Promise.reject(new CallError("invalid_name", problem));
    return this.#calls.start(
      request as CallRequest,
      action,
      this.#asyncContext.current(),
      request.signal,
      enqueueMembers,
    ) as Promise<EnqueueReceipt>;
  }

  /**
   * Creates a channel: an ordered stream of items from one writer to one reader, with a buffer of limited size. Each of
   * the two may be in this or in any other worker. Rejects with CallError, like `call`.
   */
  async createChannel(options: ChannelOptions = {}): Promise<Channel> {
    const { bufferItems } = checkedOptions(options, channelOptions);
    const payload = bufferItems === undefined ? {} : { buffer_size: bufferItems };
    return this.#channels.created(await this.call<unknown>({ function_id: "engine::channels::create", payload }));
  }

  /**
   * Returns the end of a channel for a channel reference in the result of a call. Handlers do not need it, because the
   * references in their payload are already replaced by ends.
   *
   * @throws TypeError for a value that is not a channel reference.
   */
  openChannel(ref: ReadRef): ChannelReader;
  openChannel(ref: WriteRef): ChannelWriter;
  openChannel(ref: ChannelRef): ChannelReader | ChannelWriter;
  openChannel(ref: ChannelRef): ChannelReader | ChannelWriter {
    return this.#channels.end(ref);
  }

  /**
   * Logger whose lines contain the worker's name. On Node, lines that are logged in handlers and spans also contain the
   * span. `context.log` of a handler adds the function and the call.
   */
  get log(): Logger {
    return this.#logger;
  }

  /**
   * Runs `body` and records it as a span. If `body` returns a promise, the span lasts until the promise settles. On
   * Node, the parent of the span is the running call or span. Without a parent, and in browsers, the span starts a
   * trace. An error is recorded and rethrown. In browsers, calls that are made inside are not linked to the span.
   */
  span<Result>(name: string, body: (span: Span) => Result, options: SpanOptions = {}): Result {
    return this.#spans.run(name, body, options, this.#asyncContext.current());
  }

  /**
   * Unregisters the functions, waits for calls in flight and connected channels, then closes the connection. Closes it
   * after `timeoutMs` milliseconds (default 10,000) in any case. During the shutdown, new calls fail with `draining`,
   * except calls of running handlers. The engine keeps the triggers for a while, in case the worker reconnects. Never
   * rejects. Further calls return the same promise.
   *
   * @throws TypeError for an unknown option.
   */
  shutdown(options: WaitOptions = {}): Promise<void> {
    const { timeoutMs = DEFAULT_SHUTDOWN_TIMEOUT_MS } = checkedOptions(options, waitOptions("shutdown"));
    this.#shutdown ??= this.#shutDown(timeoutMs);
    return this.#shutdown;
  }

  async #shutDown(timeoutMs: number): Promise<void> {
    this.#leaving?.stop();
    const drained = this.#session.drain();
    if (this.connectionState === "reconnecting")
      this.#session.failAll(notConnected(this.#connection, "the worker was shut down while not connected to"));
    const timeUp = new AbortController();
    const finished = within(this.#clock, DRAIN_TIMEOUT_MS, drained).then(() =>
      whenIdle(() => [...this.#own.callEnds(), ...this.#session.callEnds(), ...this.#channels.ends()], timeUp.signal),
    );
    await within(this.#clock, timeoutMs, finished);
    timeUp.abort();
    this.#session.failAll(new CallError("disconnected", "the worker was shut down"));
    this.#channels.close();
    await within(this.#clock, timeoutMs, this.#telemetry?.flush() ?? Promise.resolve());
    await this.#connection.stop();
    this.#triggers.close();
    this.#calls.stop();
    await within(this.#clock, timeoutMs, this.#own.bindingsSettled());
  }

  #requireOpen(): void {
    if (this.#shutdown !== undefined)
      throw new CallError("draining", "the worker is shutting down; nothing can be registered");
  }

  #send(frame: string): void {
    this.#connection.send(frame);
    if (this.#connection.bufferedBytes > STUCK_BACKLOG_BYTES)
      this.#connection.drop(`over ${STUCK_BACKLOG_BYTES} bytes are unsent`);
  }

  #onState(state: ConnectionState): void {
    if (state === "connected")
      this.#logger.info("connected to the engine", { address: this.#connection.shownAddress, worker_id: this.#id });
    if (state === "failed") this.#session.failAll(notConnected(this.#connection, "gave up connecting to"));
    this.#stateListeners.notify([state], (error) =>
      this.#logger.error("a connection state listener failed", { state, error }),
    );
  }
}
