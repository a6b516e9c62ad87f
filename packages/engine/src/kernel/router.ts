import { randomUUID } from "node:crypto";
import {
  type CallError,
  type Caller,
  type FunctionId,
  type InvocationId,
  MAX_TIMEOUT_MS,
  Payload,
} from "@svc-runtime/protocol";
import type { Call, CallRequest, Outcome } from "./call.ts";
import {
  callCancelled,
  callCancelledEarly,
  callTimedOut,
  engineDraining,
  functionNotFound,
  noProviderAvailable,
} from "./call-errors.ts";
import { chooseProvider } from "./choose-provider.ts";
import type { Clock } from "./clock.ts";
import { DeadlineBuckets } from "./deadline-buckets.ts";
import type { CallOptions } from "./module.ts";
import type { Registration, Registry } from "./registry.ts";
import type { TelemetryHub } from "./telemetry.ts";

/** Totals since the engine started. */
export interface RouterCounts {
  calls: number;
  succeeded: number;
  failed: number;
  timedOut: number;
  cancelled: number;
  inFlight: number;
}

export interface RouterCallOptions extends CallOptions {
  readonly caller?: Caller | undefined;
  /** Accepts the call while the engine drains, since it finishes other in-flight work. Default false. */
  readonly whileDraining?: boolean;
}

/**
 * Settles every call exactly once, by its deadline. Delivers a call to at most one worker, never retries, and does not
 * parse payloads.
 */
export class Router {
  readonly counts: RouterCounts = { calls: 0, succeeded: 0, failed: 0, timedOut: 0, cancelled: 0, inFlight: 0 };
  readonly #registry: Registry;
  readonly #clock: Clock;
  readonly #telemetry: Pick<TelemetryHub, "collector">;
  readonly #defaultTimeoutMs: () => number;
  readonly #deadlines: DeadlineBuckets<Call>;
  #draining = false;
  #idle: (() => void)[] = [];

  constructor(options: {
    readonly registry: Registry;
    readonly clock: Clock;
    readonly telemetry: Pick<TelemetryHub, "collector">;
    readonly defaultTimeoutMs: () => number;
  }) {
    this.#registry = options.registry;
    this.#telemetry = options.telemetry;
    this.#clock = options.clock;
    this.#defaultTimeoutMs = options.defaultTimeoutMs;
    this.#deadlines = new DeadlineBuckets(options.clock, (call) => this.#expire(call));
  }

  /** Starts a call. Returns undefined if it failed at once and is already settled. */
  start(request: CallRequest): Call | undefined {
    this.counts.calls++;
    if (this.#draining && !request.whileDraining) {
      return this.#refuse(request, engineDraining());
    }
    const entry = this.#registry.find(request.functionId);
    if (entry === undefined) return this.#refuse(request, functionNotFound(request.functionId));
    const choice = chooseProvider(entry, request);
    if ("refusal" in choice) return this.#refuse(request, refusalError(request.functionId, choice.refusal));
    const { provider, description } = choice.registration;
    const mismatch = problemOf(choice.registration, request);
    if (mismatch !== undefined) return this.#refuse(request, mismatch);
    const timeoutMs = Math.min(request.timeoutMs ?? description.timeoutMs ?? request.fallbackTimeoutMs, MAX_TIMEOUT_MS);
    const startedAt = this.#clock.monotonic();
    const call: Call = {
      id: request.id,
      functionId: request.functionId,
      payload: request.payload,
      timeoutMs: request.timeoutMs,
      fallbackTimeoutMs: request.fallbackTimeoutMs,
      traceparent: request.traceparent,
      baggage: request.baggage,
      metadata: request.metadata,
      caller: request.caller,
      job: request.job,
      onBehalfOf: request.onBehalfOf,
      whileDraining: request.whileDraining,
      onlyHere: request.onlyHere,
      onSettled: request.onSettled,
      provider,
      deadlineAt: startedAt + timeoutMs,
      effectiveTimeoutMs: timeoutMs,
      settled: false,
      isRerouted: false,
      isUnsent: undefined,
      span: undefined,
      earlier: undefined,
      later: undefined,
    };
    this.counts.inFlight++;
    this.#deadlines.add(call);
    this.#deliver(call, startedAt);
    return call.settled ? undefined : call;
  }

  /**
   * Handles a call that another node has refused before a worker got it. Sends the call to another provider, because
   * nothing has run. Does so once; a second refusal settles the call.
   */
  refused(call: Call, error: CallError): void {
    if (call.settled) return;
    const entry = call.isRerouted ? undefined : this.#registry.find(call.functionId);
    const choice =
      entry && chooseProvider(entry, { exceptRun: call.provider.remote?.run, whileDraining: call.whileDraining });
    if (choice === undefined || "refusal" in choice) {
      this.settle(call, { ok: false, error, cause: "not_delivered" });
      return;
    }
    call.isRerouted = true;
    call.provider.release(call);
    call.provider = choice.registration.provider;
    call.isUnsent = undefined;
    const mismatch = problemOf(choice.registration, call);
    if (mismatch === undefined) this.#deliver(call, this.#clock.monotonic());
    else this.settle(call, { ok: false, error: mismatch, cause: "not_delivered" });
  }

  #deliver(call: Call, startedAt: number): void {
    const { provider } = call;
    // If the worker is connected to another node, that node creates the span of the call.
    const span =
      provider.remote === undefined ? this.#telemetry.collector?.callStarted(call, provider, startedAt) : undefined;
    if (span !== undefined) {
      call.span = span;
      call.traceparent = span.traceparent;
    }
    const problem = provider.deliver(call);
    if (problem !== undefined) this.settle(call, { ok: false, error: problem, cause: "not_delivered" });
  }

  /**
   * Settles the call with an outcome. Has no effect if the call is already settled: the first outcome counts.
   */
  settle(call: Call, outcome: Outcome): void {
    if (call.settled) return;
    call.settled = true;
    this.#deadlines.remove(call);
    call.provider.release(call);
    this.counts.inFlight--;
    if (outcome.ok) this.counts.succeeded++;
    else this.counts.failed++;
    const { onSettled, span } = call;
    if (span !== undefined) {
      call.span = undefined;
      span.ended(outcome);
    }
    call.payload = Payload.null;
    call.metadata = undefined;
    call.onSettled = alreadySettled;
    onSettled(outcome);
    if (this.counts.inFlight === 0 && this.#idle.length > 0) {
      for (const resolve of this.#idle.splice(0)) resolve();
    }
  }

  /** Cancels the call for its caller: notifies the callee and settles with `call_cancelled`. */
  cancel(call: Call, reason: string): void {
    if (call.settled) return;
    this.counts.cancelled++;
    call.provider.withdraw(call, reason);
    this.settle(call, { ok: false, error: callCancelled(call.functionId, reason) });
  }

  /** Like `start`, but returns a promise. Rejects with CallError. */
  call(functionId: FunctionId, payload: Payload, options: RouterCallOptions = {}): Promise<Payload> {
    return new Promise((resolve, reject) => {
      const { signal } = options;
      if (signal?.aborted) {
        reject(callCancelledEarly(functionId));
        return;
      }
      let abort: (() => void) | undefined;
      const call = this.start({
        id: (options.invocationId as InvocationId | undefined) ?? newInvocationId(),
        functionId,
        payload,
        timeoutMs: options.timeoutMs,
        fallbackTimeoutMs: this.#defaultTimeoutMs(),
        traceparent: options.traceparent,
        baggage: options.baggage,
        metadata: options.metadata,
        caller: options.caller,
        job: options.job,
        onBehalfOf: options.onBehalfOf,
        whileDraining: options.whileDraining ?? false,
        onSettled: (outcome) => {
          if (abort !== undefined) signal?.removeEventListener("abort", abort);
          if (outcome.ok) {
            resolve(outcome.result ?? Payload.absent);
          } else {
            options.onFailed?.(outcome.cause);
            reject(outcome.error);
          }
        },
      });
      if (call === undefined) return;
      options.onStarted?.({
        workerId: call.provider.workerId,
        cancel: (reason) => this.cancel(call, reason),
        setDeadline: (ms) => this.#setDeadline(call, ms),
      });
      if (signal !== undefined) {
        abort = () => this.cancel(call, "the caller withdrew it");
        signal.addEventListener("abort", abort, { once: true });
      }
    });
  }

  /** Stops accepting new work. Resolves with true when the last call is settled, or with false after `graceMs`. */
  async drain(graceMs: number): Promise<boolean> {
    this.#draining = true;
    if (this.counts.inFlight === 0) return true;
    return new Promise<boolean>((resolve) => {
      const cancel = this.#clock.after(graceMs, () => resolve(false));
      this.#idle.push(() => {
        cancel();
        resolve(true);
      });
    });
  }

  #refuse(request: CallRequest, error: CallError): undefined {
    this.counts.failed++;
    this.#telemetry.collector?.callRefused(request, error);
    request.onSettled({ ok: false, error, cause: "not_delivered" });
    return undefined;
  }

  #setDeadline(call: Call, ms: number): void {
    if (call.settled) return;
    this.#deadlines.remove(call);
    call.effectiveTimeoutMs = Math.min(ms, MAX_TIMEOUT_MS);
    call.deadlineAt = this.#clock.monotonic() + call.effectiveTimeoutMs;
    this.#deadlines.add(call);
  }

  #expire(call: Call): void {
    if (call.settled) return;
    this.counts.timedOut++;
    call.provider.withdraw(call, "deadline");
    this.settle(call, { ok: false, error: callTimedOut(call.functionId, call.effectiveTimeoutMs) });
  }
}

function alreadySettled(): void {}

function refusalError(id: FunctionId, refusal: "draining" | "overloaded" | "elsewhere"): CallError {
  return refusal === "elsewhere" ? functionNotFound(id) : noProviderAvailable(id, refusal);
}

/** Returns why the payload does not match the provider's format, if the format is enforced. */
function problemOf(
  { description: { check } }: Registration,
  { payload, functionId }: CallRequest,
): CallError | undefined {
  return check?.isOn() ? check.problemOf(payload, functionId) : undefined;
}

export function newInvocationId(): InvocationId {
  return randomUUID() as InvocationId;
}
