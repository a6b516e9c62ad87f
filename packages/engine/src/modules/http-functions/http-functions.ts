import { randomUUID } from "node:crypto";
import { type BackoffOptions, backoffMs, CallError, type Payload } from "@svc-runtime/protocol";
import type { Clock } from "../../kernel/clock.ts";
import {
  type DelegatedCall,
  type InvocationRunner,
  type OutboundRules,
  overQuota,
  Quota,
  type QuotaLimits,
  type Registrar,
  type RunDelegatedCall,
} from "../../kernel/module.ts";
import { orAborted, pause } from "../../outbound-http/abortable.ts";
import { ExchangeFailure, Exchanger, type HttpResponse } from "../../outbound-http/exchange.ts";
import {
  coalesced,
  NotResolved,
  notResolved,
  type Resolve,
  resolveChecked,
  systemResolve,
} from "../../outbound-http/resolve.ts";
import { hostOf } from "../../outbound-http/url-pattern.ts";
import { checkUrl } from "../../outbound-http/url-policy.ts";
import { type Environment, readCredential } from "./credentials.ts";
import { HeldBytes } from "./held-bytes.ts";
import { type HttpInvocation, readInvocation } from "./invocation.ts";
import { requestHeaders } from "./request-headers.ts";
import { readResponse } from "./response.ts";

export interface HttpFunctionsOptions {
  readonly rules: () => HttpFunctionRules;
  /** Contains the secrets that registrations name. Read at registration and at each call. */
  readonly env: Environment;
  /** Default: the resolver of the operating system. */
  readonly resolve?: Resolve;
  /** Trusted certificates (PEM), instead of Node's. Default: Node's. */
  readonly trust?: string;
  /** Returns a number from 0 up to 1. Default `Math.random`. */
  readonly random?: () => number;
}

/**
 * Maximum number of concurrent requests; above it calls fail with `overloaded`. A request counts for the principal of
 * the function, or for the caller's if only the caller is restricted.
 */
const MAX_REQUESTS: QuotaLimits = { each: 128, restricted: 512, total: 1_024 };
const MAX_REQUESTS_PER_FUNCTION = 256;
/** Maximum bytes of the bodies and responses of these requests. One call may use 16 MiB. */
const MAX_BYTES: QuotaLimits = { each: 32 * 1024 * 1024, restricted: 64 * 1024 * 1024, total: 256 * 1024 * 1024 };
const BACKOFF: BackoffOptions = { firstMs: 200, maxMs: 5_000, jitter: 0.25 };

/** A call with the data that all its attempts share. */
interface Job {
  readonly call: DelegatedCall;
  readonly invocation: HttpInvocation;
  readonly body: Buffer;
  readonly held: HeldBytes;
  readonly requestId: string;
  /** Deadline on the monotonic clock, in milliseconds. */
  readonly deadlineAt: number;
  readonly signal: AbortSignal;
}

/** Calls functions over HTTP. See README.md. */
export class HttpFunctions implements InvocationRunner {
  readonly #options: HttpFunctionsOptions;
  readonly #clock: Clock;
  readonly #resolve: Resolve;
  readonly #random: () => number;
  readonly #exchanger: Exchanger;
  /** One controller for each call in flight. Its reason for aborting is the error that the caller gets. */
  readonly #calls = new Set<AbortController>();
  #stopped = false;
  readonly #requests = new Quota("HTTP requests in flight", MAX_REQUESTS);
  readonly #bytes = new Quota("bytes of HTTP requests in flight", MAX_BYTES);

  constructor(options: HttpFunctionsOptions, clock: Clock) {
    this.#options = options;
    this.#clock = clock;
    this.#resolve = coalesced(options.resolve ?? systemResolve);
    this.#random = options.random ?? Math.random;
    this.#exchanger = new Exchanger(clock, options.trust);
  }

  accept(functionId: string, value: unknown, { principal }: Registrar): RunDelegatedCall {
    const invocation = readInvocation(functionId, value);
    if (!principal.isTrusted && invocation.auth !== undefined) {
      throw new CallError(
        "registration_refused",
        `${functionId}: a restricted connection may not use \`auth\`, which sends secrets of the engine's environment`,
      );
    }
    checkUrl(invocation.url, this.#options.rules());
    readCredential(invocation.auth, this.#options.env);
    let requests = 0;
    return async (call) => {
      if (requests >= MAX_REQUESTS_PER_FUNCTION) {
        throw new CallError("overloaded", `${functionId} has ${requests} HTTP requests in flight, which is the limit`);
      }
      const charged = call.principal;
      const problem = this.#requests.take(charged);
      if (problem !== undefined) throw overQuota(`${functionId}: ${problem}`);
      requests++;
      const held = new HeldBytes(functionId, charged, this.#bytes);
      try {
        return await this.#execute(call, invocation, held);
      } finally {
        requests--;
        this.#requests.release(charged);
        held.releaseTo(0);
      }
    };
  }

  stop(): void {
    this.#stopped = true;
    for (const call of this.#calls) call.abort(stopped());
    this.#exchanger.close();
  }

  async #execute(call: DelegatedCall, invocation: HttpInvocation, held: HeldBytes): Promise<Payload | undefined> {
    // Throws if the payload is not JSON, because a function with a URL cannot receive other payloads.
    call.payload.value();
    if (this.#stopped) throw stopped();
    const body = Buffer.from(call.payload.text());
    held.takeBody(body.byteLength);
    const controller = new AbortController();
    const { timeoutMs } = invocation;
    const onTimeout = (): void =>
      controller.abort(
        requestFailed(call.functionId, `did not answer within ${timeoutMs} ms`, { timeout_ms: timeoutMs }),
      );
    const onCancel = (): void => controller.abort(call.signal.reason);
    const cancelTimer = this.#clock.after(timeoutMs, onTimeout);
    call.signal.addEventListener("abort", onCancel, { once: true });
    this.#calls.add(controller);
    try {
      return await this.#callWithRetries({
        call,
        invocation,
        body,
        held,
        requestId: randomUUID(),
        deadlineAt: this.#clock.monotonic() + timeoutMs,
        signal: controller.signal,
      });
    } finally {
      cancelTimer();
      call.signal.removeEventListener("abort", onCancel);
      this.#calls.delete(controller);
    }
  }

  async #callWithRetries(job: Job): Promise<Payload | undefined> {
    const { invocation, call } = job;
    for (let attempt = 1; ; attempt++) {
      const outcome = await this.#attempt(job, attempt);
      const pauseMs = backoffMs(BACKOFF, attempt, this.#random);
      const attempts = invocation.attempts ?? 1 + this.#options.rules().retries;
      const retries =
        attempt < attempts && mayRetry(outcome, invocation) && this.#clock.monotonic() + pauseMs < job.deadlineAt;
      if (!retries) {
        if (outcome instanceof Error) throw errorOf(outcome, job);
        return readResponse(call.functionId, outcome);
      }
      await pause(this.#clock, pauseMs, job.signal);
    }
  }

  /**
   * Sends one request, with the current settings, secrets and addresses. Returns a failure that may be retried; rejects
   * for other failures.
   */
  async #attempt(job: Job, attempt: number): Promise<HttpResponse | ExchangeFailure | NotResolved> {
    const { call, invocation, body, held, requestId, signal } = job;
    // The response of the previous attempt is not needed any more.
    held.releaseTo(body.byteLength);
    const rules = this.#options.rules();
    const url = checkUrl(invocation.url, rules);
    const credential = readCredential(invocation.auth, this.#options.env);
    try {
      const addresses = await orAborted(resolveChecked(url, rules, this.#resolve), signal);
      const headers = requestHeaders({
        functionId: call.functionId,
        requestId,
        invocationId: call.id,
        attempt,
        atMs: this.#clock.now(),
        body,
        traceparent: call.traceparent,
        baggage: call.baggage,
        custom: invocation.headers,
        credential,
      });
      return await this.#exchanger.send({
        url,
        method: invocation.method,
        headers,
        body,
        addresses,
        signal,
        onResponseBytes: (bytes) => held.takeResponse(bytes),
      });
    } catch (thrown) {
      if (thrown instanceof ExchangeFailure || thrown instanceof NotResolved) return thrown;
      throw thrown;
    }
  }
}

function stopped(): CallError {
  return new CallError("invocation_stopped", "Invocation stopped");
}

/**
 * Returns true if the request may be retried. A call runs at most once, so without a permission of the registration a
 * request is retried only if the engine could not connect.
 */
function mayRetry(
  outcome: HttpResponse | ExchangeFailure | NotResolved,
  { idempotent, retryStatuses }: HttpInvocation,
): boolean {
  if (outcome instanceof NotResolved) return true;
  if (outcome instanceof ExchangeFailure)
    return outcome.phase === "unconnected" || (idempotent && outcome.phase !== "unsent");
  return retryStatuses.has(outcome.status);
}

function errorOf(failure: ExchangeFailure | NotResolved, { call, invocation }: Job): Error {
  const url = new URL(invocation.url);
  if (failure instanceof NotResolved) return notResolved(url, failure);
  const { phase, message } = failure;
  if (phase === "broken")
    return new CallError(
      "http_response_failed",
      `${call.functionId}: the answer of ${hostOf(url)} cannot be read: ${message}`,
    );
  if (phase === "unanswered")
    return requestFailed(call.functionId, `${hostOf(url)} received the request but sent no response: ${message}`);
  return requestFailed(call.functionId, `could not connect to ${hostOf(url)}: ${message}`, { executed: "no" });
}

function requestFailed(functionId: string, problem: string, details?: Readonly<Record<string, unknown>>): CallError {
  return new CallError("http_request_failed", `${functionId}: ${problem}`, { details });
}

/**
 * The operator's settings; see `engine.http_functions` in the config file. Read at each use, since the file may change.
 */
export interface HttpFunctionRules extends OutboundRules {
  /** Number of retries after a failed connection. */
  readonly retries: number;
}
