import { CallError, MAX_TIMEOUT_MS, Payload } from "@svc/protocol";
import type { CallOptions, ModuleContext, StartedCall } from "../../kernel/module.ts";
import { type Answer, answerOf } from "./answer/answer.ts";
import { ExchangeChannels } from "./answer/exchange-channels.ts";
import type { StreamHead } from "./answer/response-head.ts";
import type { StreamedAnswer } from "./answer/response-stream.ts";
import { atDeadline } from "./body/body-pace.ts";
import type { FileOffers } from "./body/file-offers.ts";
import { type TakenBody, takeBody } from "./body/taken-body.ts";
import type { HttpConfig } from "./config.ts";
import type { Incoming } from "./incoming.ts";
import { type MiddlewareContext, type MiddlewareRun, runAfter, runBefore } from "./middleware/middleware.ts";
import { Refusal, unavailable } from "./refusal.ts";
import { requestMembers } from "./request.ts";
import type { Destination, RequestContext } from "./request-context.ts";
import type { MiddlewareEntry } from "./routing/setting-parts.ts";

/** What becomes of a request: a whole answer, or one whose body streams. */
export interface RouteOutcome {
  readonly answer: Answer;
  readonly stream: Omit<StreamedAnswer, "status" | "headers"> | undefined;
}

export interface RouteCallParts {
  readonly requestContext: RequestContext;
  readonly destination: Destination;
  readonly incoming: Incoming;
  readonly middleware: readonly MiddlewareEntry[];
  readonly context: ModuleContext<HttpConfig>;
  readonly fileOffers: FileOffers;
}

/** Gets a request answered by the function of its route: middleware, body, condition, handler, middleware. */
export class RouteCall {
  readonly #parts: RouteCallParts;
  readonly #timeoutMs: number;
  readonly #plainOptions: Pick<CallOptions, "timeoutMs" | "traceparent" | "baggage">;
  readonly #middlewareContext: MiddlewareContext = Object.create(null) as MiddlewareContext;
  #body: Promise<TakenBody> | undefined;
  #channels: ExchangeChannels | undefined;
  #started: StartedCall | undefined;
  /** When a handler that writes its answer must have begun. */
  #deadlineAt = 0;
  #hasBegun = false;
  #releaseBody = (): void => {};

  constructor(parts: RouteCallParts) {
    this.#parts = parts;
    const { requestContext, destination } = parts;
    this.#timeoutMs = destination.binding.settings.timeoutMs ?? requestContext.config.defaultTimeoutMs;
    this.#plainOptions = { timeoutMs: this.#timeoutMs, ...requestContext.trace };
  }

  get #options(): CallOptions {
    return { ...this.#plainOptions, signal: this.#parts.requestContext.exchange.signal };
  }

  async run(): Promise<RouteOutcome> {
    const { middleware } = this.#parts;
    if (middleware.length === 0) return this.#call();
    const before = middleware.filter(({ phase }) => phase === "preHandler");
    const responded = await runBefore(before, this.#middlewareRun());
    if (responded !== undefined) return { answer: responded, stream: undefined };
    const outcome = await this.#call();
    const after = middleware.filter(({ phase }) => phase === "postHandler");
    const answer = await runAfter(after, this.#middlewareRun(), outcome.answer, outcome.stream !== undefined);
    return { ...outcome, answer };
  }

  /** Lets go of channels and of a body that still comes. */
  release(): void {
    this.#channels?.close();
    this.#releaseBody();
  }

  async #call(): Promise<RouteOutcome> {
    const { incoming, destination, requestContext } = this.#parts;
    const { binding } = destination;
    const body = await this.#takeBody();
    const form = body.text.form === undefined ? "" : `,"form":${body.text.form}`;
    const files = body.files === undefined ? "" : `,"files":${body.files}`;
    const members = `${requestMembers(incoming, destination)},"context":${JSON.stringify(this.#middlewareContext)},"body":${body.text.json}${form}${files}`;
    const { conditionFunctionId, streaming } = binding.settings;
    if (conditionFunctionId !== undefined && !(await binding.passes(Payload.fromText(`{${members}}`), this.#options))) {
      throw new Refusal({ status: 422, code: "CONDITION_NOT_MET", message: `the condition of this route (${conditionFunctionId}) was not met` });
    }
    if (requestContext.exchange.isOver) throw new CallError("call_cancelled", "the client left");
    if (streaming) return this.#callWithChannels(members, body);
    return this.#whole(await binding.fire(Payload.fromText(`{${members}}`), this.#options));
  }

  /**
   * Calls the handler with channels for body and answer. What comes first decides: a result is the answer; the first piece of a body
   * begins a streamed one, after which the call's outcome is of no interest. Returning nothing means that the answer is to stream.
   */
  async #callWithChannels(members: string, body: TakenBody): Promise<RouteOutcome> {
    const { requestContext, destination, context } = this.#parts;
    const { exchange } = requestContext;
    const { binding } = destination;
    const channels = new ExchangeChannels(exchange, (writer) =>
      body.fill(writer, { idle: () => this.#bodyWentSilent(channels), moved: () => this.#bodyMoved() }),
    );
    this.#channels = channels;
    exchange.onEnd(() => this.release());
    exchange.onWithdrawn(() => this.#started?.cancel("the client left"));
    this.#deadlineAt = context.clock.monotonic() + this.#timeoutMs;
    const call = binding.fire(Payload.fromText(`{${members}${channels.members}}`), {
      ...this.#plainOptions,
      onStarted: (started) => {
        this.#started = started;
      },
    });
    call.catch(forget);
    const first = await Promise.race([call, channels.begun]);
    if (first instanceof Payload) {
      if (!meansStream(first, channels)) return this.#whole(first);
      return this.#streamed(await this.#late(channels), call);
    }
    // Ended without a word: the handler may still return an answer.
    if (first === undefined || (first.first === undefined && !first.wasSaid)) {
      const result = await call;
      if (!meansStream(result, channels)) return this.#whole(result);
    }
    return this.#streamed(first, call);
  }

  /** Waits for the beginning of an answer whose function has returned nothing. */
  async #late(channels: ExchangeChannels): Promise<StreamHead | undefined> {
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
    // The call has ended. Keeping it would keep its result for as long as the client takes to read the answer.
    this.#started = undefined;
    const { binding, defaultStatus } = this.#parts.destination;
    return { answer: answerOf(result, binding.functionId, defaultStatus), stream: undefined };
  }

  #streamed(head: StreamHead | undefined, call: Promise<Payload>): RouteOutcome {
    const reader = this.#channels?.reader;
    const { functionId } = this.#parts.destination.binding;
    if (head === undefined || reader === undefined) {
      throw new Refusal(unavailable("invocation_stopped", `${functionId} broke its answer off before it began`));
    }
    const { status, headers, dropped, first, length } = head;
    if (first === undefined) {
      return { answer: { status, headers, dropped, body: status === 204 || status === 304 ? undefined : "" }, stream: undefined };
    }
    this.#hasBegun = true;
    // A stream may take as long as it likes; what the handler does after it has the time that it had before.
    this.#started?.setDeadline(MAX_TIMEOUT_MS);
    const release = (): void => {
      this.release();
      this.#started?.setDeadline(this.#timeoutMs);
    };
    call.catch(forget);
    return { answer: { status, headers, dropped, body: undefined }, stream: { first, length, reader, release } };
  }

  #takeBody(): Promise<TakenBody> {
    this.#body ??= this.#readBody();
    return this.#body;
  }

  async #readBody(): Promise<TakenBody> {
    const { requestContext, destination, context, fileOffers } = this.#parts;
    const { exchange, config, headers } = requestContext;
    const { settings } = destination.binding;
    const body = await takeBody({
      request: exchange.request,
      headers: headers.all,
      settings,
      config,
      timeoutMs: this.#timeoutMs,
      clock: context.clock,
      fileOffers,
      onFileRead: () => this.#bodyMoved(),
    });
    this.#releaseBody = () => body.discard();
    exchange.onEnd(() => body.discard());
    return body;
  }

  /** While an upload keeps moving the handler is not late; once its answer streams there is no deadline to move. */
  #bodyMoved(): void {
    if (this.#hasBegun) return;
    this.#deadlineAt = this.#parts.context.clock.monotonic() + this.#timeoutMs;
    this.#started?.setDeadline(this.#timeoutMs);
  }

  /** An upload that stands still is given up: with 408 as long as there is no answer, else with its connection. */
  #bodyWentSilent(channels: ExchangeChannels): void {
    const { exchange } = this.#parts.requestContext;
    if (exchange.response.headersSent) {
      exchange.request.socket.destroy();
      return;
    }
    channels.fail(new Refusal({ status: 408, code: "request_timeout", message: "the body stopped coming" }));
    this.#started?.cancel("the body stopped coming");
  }

  #middlewareRun(): MiddlewareRun {
    const { incoming, destination, context } = this.#parts;
    return {
      incoming,
      trigger: destination,
      context: this.#middlewareContext,
      options: this.#options,
      call: (functionId, payload, options) => context.call(functionId, payload, options),
      body: async () => (await this.#takeBody()).text.json,
    };
  }
}

/**
 * Whether a result says that the answer comes over the channel. A handler that returns nothing says so; the value null is an answer
 * like any other, unless the handler has begun to write: published clients may end so.
 */
function meansStream(result: Payload, channels: ExchangeChannels): boolean {
  return result === Payload.absent || (channels.reader !== undefined && result.text().trim() === "null");
}

function forget(): void {}
