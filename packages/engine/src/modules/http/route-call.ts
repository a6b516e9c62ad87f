import { CallError, MAX_TIMEOUT_MS, Payload } from "@svc/protocol";
import type { CallOptions, ModuleContext } from "../../kernel/module.ts";
import { type Answer, answerOf } from "./answer.ts";
import type { HttpConfig } from "./config.ts";
import { type ExchangeChannels, openChannels } from "./exchange-channels.ts";
import type { Incoming } from "./incoming.ts";
import { type MiddlewareContext, type MiddlewareRun, runAfter, runBefore } from "./middleware.ts";
import { Refusal, unavailable } from "./refusal.ts";
import { requestMembers } from "./request.ts";
import { readHead, type StreamHead } from "./response-head.ts";
import type { StreamedAnswer } from "./response-stream.ts";
import type { MiddlewareEntry } from "./setting-parts.ts";
import { type TakenBody, takeBody } from "./taken-body.ts";
import type { Destination, Visit } from "./visit.ts";

/** What becomes of a request: a whole answer, or one whose body streams. */
export interface RouteOutcome {
  readonly answer: Answer;
  readonly stream: Omit<StreamedAnswer, "status" | "headers"> | undefined;
}

export interface RouteCallParts {
  readonly visit: Visit;
  readonly destination: Destination;
  readonly incoming: Incoming;
  readonly middleware: readonly MiddlewareEntry[];
  readonly context: ModuleContext<HttpConfig>;
}

/** Gets a request answered by the function of its route: middleware, body, condition, handler, middleware. */
export class RouteCall {
  readonly #parts: RouteCallParts;
  readonly #timeoutMs: number;
  readonly #options: CallOptions;
  readonly #middlewareContext: MiddlewareContext = Object.create(null) as MiddlewareContext;
  #body: Promise<TakenBody> | undefined;
  #channels: ExchangeChannels | undefined;
  #releaseBody = (): void => {};

  constructor(parts: RouteCallParts) {
    this.#parts = parts;
    const { visit, destination } = parts;
    this.#timeoutMs = destination.binding.settings.timeoutMs ?? visit.config.defaultTimeoutMs;
    this.#options = { timeoutMs: this.#timeoutMs, signal: visit.exchange.signal, ...visit.trace };
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
    const { incoming, destination, visit } = this.#parts;
    const { binding } = destination;
    const body = await this.#takeBody();
    const form = body.text.form === undefined ? "" : `,"form":${body.text.form}`;
    const files = body.files === undefined ? "" : `,"files":${body.files}`;
    const members = `${requestMembers(incoming, destination)},"context":${JSON.stringify(this.#middlewareContext)},"body":${body.text.json}${form}${files}`;
    const { conditionFunctionId, streaming } = binding.settings;
    if (conditionFunctionId !== undefined && !(await binding.passes(Payload.fromText(`{${members}}`), this.#options))) {
      throw new Refusal({ status: 422, code: "CONDITION_NOT_MET", message: `the condition of this route (${conditionFunctionId}) was not met` });
    }
    if (visit.exchange.isOver) throw new CallError("call_cancelled", "the client left");
    if (streaming) return this.#callWithChannels(members, body);
    return this.#whole(await binding.fire(Payload.fromText(`{${members}}`), this.#options));
  }

  /**
   * Calls the handler with channels for body and answer. What comes first decides: a result is the answer; the first piece of a body
   * begins a streamed one, after which the call's outcome is of no interest. Returning nothing means that the answer is to stream.
   */
  async #callWithChannels(members: string, body: TakenBody): Promise<RouteOutcome> {
    const { visit, destination, context } = this.#parts;
    const { exchange } = visit;
    const { functionId } = destination.binding;
    const channels = openChannels(context);
    this.#channels = channels;
    exchange.onEnd(() => this.release());
    const stop = brake();
    let hasReturned = false;
    // The call itself has no deadline to speak of, since a stream may take long; until it begins the route's deadline is kept here.
    const cancelDeadline = context.clock.after(this.#timeoutMs, () => {
      const what = hasReturned ? "returned nothing and wrote nothing to its response" : "did not answer";
      stop.pull(new CallError("call_timeout", `${functionId} ${what} within ${this.#timeoutMs} ms`, { details: { function_id: functionId } }));
      exchange.withdraw();
    });
    const call = destination.binding.fire(Payload.fromText(`{${members}${channels.members}}`), { ...this.#options, timeoutMs: MAX_TIMEOUT_MS });
    const settled = call.then(forget, forget);
    body.fill(channels, () => this.#bodyWentSilent(stop));
    const head = readHead(channels.answer);
    try {
      const first = await Promise.race([call, head, stop.pulled]);
      if (first instanceof Payload) {
        if (!meansStream(first, channels)) return this.#whole(first);
        hasReturned = true;
        const begun = await Promise.race([head, stop.pulled]);
        if (begun === undefined) throw new Refusal(unavailable("invocation_stopped", `${functionId} broke its answer off before it began`));
        return this.#streamed(begun, settled);
      }
      // Ended without a word: the handler may still return an answer.
      if (first === undefined || (first.first === undefined && !first.wasSaid)) {
        const result = await Promise.race([call, stop.pulled]);
        if (!meansStream(result, channels)) return this.#whole(result);
        if (first === undefined) throw new Refusal(unavailable("invocation_stopped", `${functionId} broke its answer off before it began`));
      }
      return this.#streamed(first, settled);
    } finally {
      cancelDeadline();
    }
  }

  #whole(result: Payload): RouteOutcome {
    const { binding, defaultStatus } = this.#parts.destination;
    return { answer: answerOf(result, binding.functionId, defaultStatus), stream: undefined };
  }

  #streamed(head: StreamHead, settled: Promise<void>): RouteOutcome {
    const { status, headers, dropped, first, length } = head;
    const { visit, context } = this.#parts;
    const channels = this.#channels;
    if (first === undefined || channels === undefined) {
      return { answer: { status, headers, dropped, body: status === 204 || status === 304 ? undefined : "" }, stream: undefined };
    }
    const release = (): void => {
      this.release();
      // What the handler does after its stream has the time that it had before.
      const cancel = context.clock.after(this.#timeoutMs, () => visit.exchange.withdraw());
      void settled.then(cancel);
    };
    return { answer: { status, headers, dropped, body: undefined }, stream: { first, length, reader: channels.answer, release } };
  }

  #takeBody(): Promise<TakenBody> {
    this.#body ??= this.#readBody();
    return this.#body;
  }

  async #readBody(): Promise<TakenBody> {
    const { visit, destination, context } = this.#parts;
    const { exchange, config, headers } = visit;
    const { settings } = destination.binding;
    const body = await takeBody({
      request: exchange.request,
      headers: headers.all,
      settings,
      config,
      timeoutMs: this.#timeoutMs,
      clock: context.clock,
      context,
    });
    this.#releaseBody = () => body.discard();
    exchange.onEnd(() => body.discard());
    return body;
  }

  /** An upload that stands still is given up: with 408 as long as there is no answer, else with its connection. */
  #bodyWentSilent(stop: Brake): void {
    const { exchange } = this.#parts.visit;
    if (exchange.response.headersSent) exchange.request.socket.destroy();
    else {
      stop.pull(new Refusal({ status: 408, code: "request_timeout", message: "the body stopped coming" }));
      exchange.withdraw();
    }
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
  return result === Payload.absent || (channels.answerWriterIsTaken && result.text().trim() === "null");
}

/** Ends a race from outside. */
interface Brake {
  /** Rejects when it is pulled. */
  readonly pulled: Promise<never>;
  pull(reason: Error): void;
}

function brake(): Brake {
  let pull: (reason: Error) => void = forget;
  const pulled = new Promise<never>((_, reject) => {
    pull = reject;
  });
  // Pulled when nobody waits any more.
  pulled.catch(forget);
  return { pulled, pull };
}

function forget(): void {}
