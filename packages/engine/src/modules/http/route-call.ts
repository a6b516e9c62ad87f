import { randomUUID } from "node:crypto";
import { CallError, MAX_TIMEOUT_MS, Payload } from "@svc-runtime/protocol";
import { type Directory, isPublishedClient, type WorkerView } from "../../kernel/directory.ts";
import type { CallOptions, ModuleContext, StartedCall } from "../../kernel/module.ts";
import { atDeadline } from "./body/body-pace.ts";
import type { FileOffers } from "./body/file-offers.ts";
import { type RequestBody, readRequestBody } from "./body/request-body.ts";
import type { HttpConfig } from "./config.ts";
import type { IncomingRequest } from "./incoming-request.ts";
import { type MiddlewareContext, type MiddlewareRun, runAfter, runBefore } from "./middleware/middleware.ts";
import { Refusal, unavailable } from "./refusal.ts";
import { parameterMembers, requestMembers, triggerMembers, urlOf } from "./request.ts";
import type { Destination, RequestContext } from "./request-context.ts";
import { channelMembers, ExchangeChannels } from "./response/exchange-channels.ts";
import type { StreamHead } from "./response/read-stream-head.ts";
import type { StreamedResponse } from "./response/response-stream.ts";
import { type RouteResponse, responseOfResult } from "./response/route-response.ts";
import type { MiddlewareEntry } from "./routing/setting-parts.ts";

/** A complete response, or one with a streamed body. */
export interface RouteOutcome {
  readonly routeResponse: RouteResponse;
  readonly stream: Omit<StreamedResponse, "status" | "headers"> | undefined;
}

export interface RouteCallParts {
  readonly requestContext: RequestContext;
  readonly destination: Destination;
  readonly incoming: IncomingRequest;
  readonly middleware: readonly MiddlewareEntry[];
  readonly context: ModuleContext<HttpConfig>;
  readonly fileOffers: FileOffers;
}

/**
 * Responds to a request with the function of its route. The order is: middleware before the handler, reading the body,
 * the condition, the handler, middleware after the handler.
 */
export class RouteCall {
  readonly #parts: RouteCallParts;
  readonly #timeoutMs: number;
  /** Created for the first middleware. */
  #middlewareContext: MiddlewareContext | undefined;
  #body: RequestBody | Promise<RequestBody> | undefined;
  #channels: ExchangeChannels | undefined;
  #started: StartedCall | undefined;
  /** Deadline for the start of a response that the handler streams, in milliseconds on the monotonic clock. */
  #deadlineAt = 0;
  #hasBegun = false;
  #discardBody: (() => void) | undefined;

  constructor(parts: RouteCallParts) {
    this.#parts = parts;
    const { requestContext, destination } = parts;
    this.#timeoutMs = destination.binding.settings.timeoutMs ?? requestContext.config.defaultTimeoutMs;
  }

  get #options(): CallOptions {
    const { exchange, trace } = this.#parts.requestContext;
    return { timeoutMs: this.#timeoutMs, ...trace, signal: exchange.signal };
  }

  run(): Promise<RouteOutcome> {
    const { middleware } = this.#parts;
    return middleware.length === 0 ? this.#call() : this.#runWith(middleware);
  }

  async #runWith(middleware: readonly MiddlewareEntry[]): Promise<RouteOutcome> {
    const before = middleware.filter(({ phase }) => phase === "preHandler");
    const responded = await runBefore(before, this.#middlewareRun());
    if (responded !== undefined) return { routeResponse: responded, stream: undefined };
    const outcome = await this.#call();
    const after = middleware.filter(({ phase }) => phase === "postHandler");
    const routeResponse = await runAfter(
      after,
      this.#middlewareRun(),
      outcome.routeResponse,
      outcome.stream !== undefined,
    );
    return { ...outcome, routeResponse };
  }

  /** Closes the channels of the request, and closes and deletes the files of its form. */
  release(): void {
    this.#parts.requestContext.exchange.offerChannels = undefined;
    this.#channels?.close();
    this.#discardBody?.();
  }

  async #call(): Promise<RouteOutcome> {
    const { destination, requestContext } = this.#parts;
    const { binding } = destination;
    const reading = this.#body ?? this.#readBody();
    const body = reading instanceof Promise ? await reading : reading;
    const form = body.text.form === undefined ? "" : `,"form":${body.text.form}`;
    const files = body.files === undefined ? "" : `,"files":${body.files}`;
    const context = this.#middlewareContext === undefined ? "{}" : JSON.stringify(this.#middlewareContext);
    const members = `${this.#requestMembers()},"context":${context},"body":${body.text.json}${form}${files}`;
    const { conditionFunctionId, streaming } = binding.settings;
    if (conditionFunctionId !== undefined && !(await binding.passes(Payload.fromText(`{${members}}`), this.#options))) {
      throw new Refusal({
        status: 422,
        code: "CONDITION_NOT_MET",
        message: `the condition of this route (${conditionFunctionId}) was not met`,
      });
    }
    if (requestContext.exchange.isOver) throw new CallError("call_cancelled", "the client disconnected");
    if (streaming) return this.#callWithChannels(members, body);
    return this.#whole(await binding.fire(Payload.fromText(`{${members}}`), this.#options));
  }

  /**
   * Returns the request without its body, as JSON members. With middleware, all of them are serialized, because
   * middleware may have changed the request. Without middleware, the text that several requests have in common is
   * reused.
   */
  #requestMembers(): string {
    const { incoming, destination, middleware, requestContext } = this.#parts;
    if (middleware.length > 0) return requestMembers(incoming, destination);
    const { method, pathParams, query, requestId, target } = incoming;
    const trigger = method === destination.method ? destination.members : triggerMembers(method, destination);
    return `${parameterMembers(pathParams, query)},${requestContext.head.members},${trigger},"url":${JSON.stringify(urlOf(target))},"request_id":"${requestId}"`;
  }

  /**
   * Calls the handler, which may open channels for body and response. The channels are created only when the handler
   * opens them, because most handlers open none.
   */
  async #callWithChannels(members: string, body: RequestBody): Promise<RouteOutcome> {
    const { requestContext, destination, context } = this.#parts;
    const { exchange, trace } = requestContext;
    const key = randomUUID();
    exchange.onEnd(() => this.release());
    exchange.onWithdrawn(() => this.#started?.cancel("the client disconnected"));
    this.#deadlineAt = context.clock.monotonic() + this.#timeoutMs;
    const call = destination.binding.fire(Payload.fromText(`{${members}${channelMembers(exchange.id, key)}}`), {
      timeoutMs: this.#timeoutMs,
      traceparent: trace.traceparent,
      baggage: trace.baggage,
      onStarted: (started) => {
        this.#started = started;
      },
    });
    const first = await this.#resultOrChannels(call, key, body);
    if (first instanceof ExchangeChannels) return this.#firstOf(call, first);
    if (this.#channels === undefined && first !== Payload.absent) return this.#whole(first);
    return this.#firstOf(call, this.#channels ?? this.#openChannels(key, body));
  }

  /**
   * Waits until the call returns or the handler opens a channel. Closures in the caller of this function live until the
   * response is sent and would keep the call's result in memory, so this is a separate function.
   */
  #resultOrChannels(call: Promise<Payload>, key: string, body: RequestBody): Promise<Payload | ExchangeChannels> {
    return new Promise((resolve, reject) => {
      this.#parts.requestContext.exchange.offerChannels = () => {
        const channels = this.#openChannels(key, body);
        resolve(channels);
        return channels;
      };
      call.then(resolve, reject);
    });
  }

  #openChannels(key: string, body: RequestBody): ExchangeChannels {
    const { exchange } = this.#parts.requestContext;
    exchange.offerChannels = undefined;
    const channels: ExchangeChannels = new ExchangeChannels(exchange, key, (writer) =>
      body.fill(writer, { idle: () => this.#bodyStalled(channels), moved: () => this.#bodyMoved() }),
    );
    this.#channels = channels;
    return channels;
  }

  /**
   * Returns the response, which depends on the event that comes first. If the call returns a result, the result is the
   * response. If the first piece of the body arrives, the response is streamed and the result of the call is ignored.
   * If the call returns nothing, the response will be streamed.
   */
  async #firstOf(call: Promise<Payload>, channels: ExchangeChannels): Promise<RouteOutcome> {
    const first = await Promise.race([call, channels.begun]);
    if (first instanceof Payload) {
      if (!meansStream(first, channels)) return this.#whole(first);
      return this.#streamed(await this.#awaitHead(channels), call);
    }
    // The stream ended without data or headers: the handler may still return a response.
    if (first === undefined || (first.first === undefined && !first.isExplicit)) {
      const result = await call;
      if (!meansStream(result, channels)) return this.#whole(result);
    }
    return this.#streamed(first, call);
  }

  /** Waits for the start of a response whose function has returned nothing. */
  async #awaitHead(channels: ExchangeChannels): Promise<StreamHead | undefined> {
    const { destination, context } = this.#parts;
    const { functionId } = destination.binding;
    const cancelDeadline = atDeadline(
      context.clock,
      () => this.#deadlineAt,
      () => {
        const message = `${functionId} returned nothing and wrote nothing to its response within ${this.#timeoutMs} ms`;
        channels.fail(new CallError("call_timeout", message, { details: { function_id: functionId } }));
      },
    );
    try {
      return await channels.begun;
    } finally {
      cancelDeadline();
    }
  }

  #whole(result: Payload): RouteOutcome {
    // The call has ended. A reference to it would keep its result in memory while the client reads the response.
    this.#started = undefined;
    const { binding, defaultStatus } = this.#parts.destination;
    return { routeResponse: responseOfResult(result, binding.functionId, defaultStatus), stream: undefined };
  }

  #streamed(head: StreamHead | undefined, call: Promise<Payload>): RouteOutcome {
    const reader = this.#channels?.reader;
    const { functionId } = this.#parts.destination.binding;
    if (head === undefined || reader === undefined) {
      throw new Refusal(unavailable("invocation_stopped", `${functionId} aborted its response before it began`));
    }
    const { status, headers, dropped, first, length } = head;
    if (first === undefined) {
      return {
        routeResponse: { status, headers, dropped, body: status === 204 || status === 304 ? undefined : "" },
        stream: undefined,
      };
    }
    this.#hasBegun = true;
    // A stream may take as long as it needs, so the call gets the maximum timeout. When the stream ends, `release` sets
    // the usual timeout for the rest of the handler's work.
    this.#started?.setDeadline(MAX_TIMEOUT_MS);
    const release = (): void => {
      this.release();
      this.#started?.setDeadline(this.#timeoutMs);
    };
    call.catch(ignore);
    return { routeResponse: { status, headers, dropped, body: undefined }, stream: { first, length, reader, release } };
  }

  /**
   * Starts to read the body and stores it in `#body`, so that it is read only once. Returns a promise only if the body
   * must be awaited.
   */
  #readBody(): RequestBody | Promise<RequestBody> {
    const { requestContext, destination, context, fileOffers } = this.#parts;
    const { exchange, config, head } = requestContext;
    const { settings } = destination.binding;
    const reading = readRequestBody({
      request: exchange.request,
      head,
      settings,
      config,
      timeoutMs: this.#timeoutMs,
      clock: context.clock,
      fileOffers,
      takesRawForms: () => isOfPublishedClients(destination.binding.functionId, context.directory),
      onFileRead: () => this.#bodyMoved(),
    });
    this.#body = reading instanceof Promise ? reading.then((body) => this.#keepBody(body)) : this.#keepBody(reading);
    return this.#body;
  }

  #keepBody(body: RequestBody): RequestBody {
    if (body.discard === undefined) return body;
    this.#discardBody = body.discard;
    this.#parts.requestContext.exchange.onEnd(body.discard);
    return body;
  }

  /**
   * Restarts the handler's timeout while more of an upload arrives. A response that is being streamed has no timeout.
   */
  #bodyMoved(): void {
    if (this.#hasBegun) return;
    this.#deadlineAt = this.#parts.context.clock.monotonic() + this.#timeoutMs;
    this.#started?.setDeadline(this.#timeoutMs);
  }

  /** Aborts a stalled upload: with 408 if there is no response yet, else by closing the connection. */
  #bodyStalled(channels: ExchangeChannels): void {
    const { exchange } = this.#parts.requestContext;
    if (exchange.response.headersSent) {
      exchange.request.socket.destroy();
      return;
    }
    channels.fail(new Refusal({ status: 408, code: "request_timeout", message: "the body stopped arriving" }));
    this.#started?.cancel("the body stopped arriving");
  }

  #middlewareRun(): MiddlewareRun {
    const { incoming, destination, context } = this.#parts;
    const { binding } = destination;
    this.#middlewareContext ??= Object.create(null) as MiddlewareContext;
    return {
      incoming,
      trigger: destination,
      context: this.#middlewareContext,
      options: this.#options,
      // Middleware of the route is called through the binding, so that it has the same rights as the route. It cannot
      // be called if the route has been removed since the request arrived.
      call: (functionId, payload, options) =>
        binding.settings.middleware.some((entry) => entry.functionId === functionId)
          ? binding.call(functionId, payload, options)
          : context.call(functionId, payload, options),
      body: async () => (await (this.#body ?? this.#readBody())).text.json,
    };
  }
}

/**
 * Returns true if the result means that the response comes over the channel. There are two cases: the handler returned
 * nothing; or it returned null and has opened the response channel, because handlers of published clients return null
 * instead of nothing. Otherwise null is a normal result.
 */
function meansStream(result: Payload, channels: ExchangeChannels): boolean {
  return result === Payload.absent || (channels.reader !== undefined && result.text().trim() === "null");
}

/**
 * Returns true if only published clients provide the function. Such a function gets a multipart form as it was sent,
 * because these clients parse the form themselves.
 */
function isOfPublishedClients(functionId: string, directory: Pick<Directory, "functionById" | "workerById">): boolean {
  const workers = directory.functionById(functionId)?.workers ?? [];
  return workers.length > 0 && workers.every(({ id }) => isPublished(directory.workerById(id)));
}

function isPublished(worker: WorkerView | undefined): boolean {
  return worker !== undefined && isPublishedClient(worker);
}

function ignore(): void {}
