import { type BackoffOptions, CallError } from "@svc-runtime/protocol";
import type { CallFailureCause, CallOptions, StartedCall } from "../kernel/module.ts";

/**
 * Kind of failure of a delivery attempt. It decides whether the delivery is retried.
 * - `failed`: counts as an attempt; retried after the backoff.
 * - `permanent`: counts as an attempt; not retried, because a retry would fail in the same way.
 * - `missing`: the function has no provider. Does not count as an attempt; retried when the function gets a provider.
 * - `unavailable`: every provider is overloaded or shutting down. Does not count as an attempt; retried after a pause.
 * - `interrupted`: the provider disconnected during the call, so the function may have run.
 */
export type DeliveryFailure = "failed" | "permanent" | "missing" | "unavailable" | "interrupted";

/** Delay before a retry after `unavailable`. */
export const UNAVAILABLE_BACKOFF: BackoffOptions = { firstMs: 200, maxMs: 30_000, jitter: 0.2 };

/** The calls of one attempt of a delivery: first of the condition function, if there is one, then of the function. */
export class DeliveryAttempt {
  #cause: CallFailureCause | undefined;
  #call: StartedCall | undefined;
  #cancelReason: string | undefined;

  /** Returns the options for the next call of the attempt. Throws `call_cancelled` if the attempt was cancelled. */
  callOptions(options: CallOptions): CallOptions {
    if (this.#cancelReason !== undefined)
      throw new CallError("call_cancelled", `the call was cancelled before it began: ${this.#cancelReason}`, {
        details: { executed: "no" },
      });
    this.#cause = undefined;
    this.#call = undefined;
    return {
      ...options,
      onStarted: (call) => {
        this.#call = call;
        options.onStarted?.(call);
        // A handler of the engine may have cancelled the attempt while the call started.
        if (this.#cancelReason !== undefined) call.cancel(this.#cancelReason);
      },
      onFailed: (cause) => {
        this.#cause = cause;
      },
    };
  }

  /**
   * Cancels the call that is in flight, and all calls that would follow. A job is cancelled by this instead of an
   * AbortSignal, because creating a signal and listening to it takes a tenth of the processor time of a job.
   */
  cancel(reason: string): void {
    this.#cancelReason = reason;
    this.#call?.cancel(reason);
  }

  /**
   * Classifies the failure of the last call. Uses the cause of the failure and not only the error code, because a
   * handler that does not catch the error of its own nested call fails with the code of the nested call.
   */
  failureOf({ code }: CallError): DeliveryFailure {
    if (this.#cause === "provider_disconnected") return "interrupted";
    if (this.#cause === "not_delivered") {
      if (code === "function_not_found") return "missing";
      if (code === "worker_overloaded" || code === "draining" || code === "invocation_stopped") return "unavailable";
    }
    return code === "trigger_loop" ? "permanent" : "failed";
  }
}
