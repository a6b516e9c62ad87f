import type { CallError, Caller, FunctionId, InvocationId, Job, Payload } from "@svc/protocol";
import type { Principal } from "./access/principal.ts";
import type { DeadlineItem } from "./deadlines.ts";
import type { CallSpan } from "./telemetry-contract.ts";

/** How a call ended. `result` is undefined when the handler returned nothing. */
export type Outcome =
  | { readonly ok: true; readonly result: Payload | undefined; readonly traceparent?: string | undefined; readonly baggage?: string | undefined }
  | { readonly ok: false; readonly error: CallError; readonly cause?: CallFailureCause };

/**
 * Why a call got no answer from its provider. Absent if the provider answered with an error, the deadline passed or the caller cancelled.
 * - `not_delivered`: no provider received the call.
 * - `provider_disconnected`: the provider may have received the call and disconnected before it answered.
 */
export type CallFailureCause = "not_delivered" | "provider_disconnected";

/** What is asked of the router. */
export interface CallRequest {
  readonly id: InvocationId;
  readonly functionId: FunctionId;
  readonly payload: Payload;
  /** Undefined takes the function's own deadline, else `fallbackTimeoutMs`. */
  readonly timeoutMs: number | undefined;
  /** Deadline when neither the call nor the function names one. */
  readonly fallbackTimeoutMs: number;
  readonly traceparent: string | undefined;
  readonly baggage: string | undefined;
  readonly metadata: Payload | undefined;
  readonly caller: Caller | undefined;
  readonly job: Job | undefined;
  /** Whom the caller makes it for, where that is another. */
  readonly onBehalfOf?: Principal | undefined;
  /** True for work that finishes other work in hand, which goes on while the engine drains. */
  readonly whileDraining: boolean;
  /** Called exactly once, possibly before `start` returns. */
  readonly onSettled: (outcome: Outcome) => void;
}

type Settled = CallRequest["onSettled"];

/** One call on its way: made by the router, held by the provider that runs it, gone when it is settled. */
export interface Call extends Omit<CallRequest, "payload" | "metadata" | "traceparent" | "onSettled">, DeadlineItem<Call> {
  /** Emptied when the call is settled, so that whoever still knows the call does not keep what it carried. */
  payload: Payload;
  metadata: Payload | undefined;
  /** The caller's until the call is observed; then its own span's, which the callee gets. */
  traceparent: string | undefined;
  /** While it is observed and not settled. */
  span: CallSpan | undefined;
  onSettled: Settled;
  /** Who runs it. */
  provider: Provider;
  /** On the monotonic clock, milliseconds. */
  deadlineAt: number;
  effectiveTimeoutMs: number;
  settled: boolean;
  /** Says, once the provider's connection has ended, whether the call certainly never left the engine. Undefined if nothing was queued before it. */
  isUnsent: (() => boolean) | undefined;
}

/** Why a provider takes no call just now. */
export type Refusal = "draining" | "overloaded";

/** Whoever runs calls of a function: a worker's connection or a module. */
export interface Provider {
  readonly workerId: string;
  readonly name: string;
  /** Modules come before workers: a worker cannot take over what the engine provides. */
  readonly builtIn: boolean;
  /** Whose functions these are: nobody else may provide the same ones. */
  readonly principal: Principal;
  /** Calls handed over and not yet settled. */
  readonly inFlight: number;
  refusal(): Refusal | undefined;
  /** Takes the call, or says why it cannot. The answer comes through `router.settle`. */
  deliver(call: Call): CallError | undefined;
  /** The call was settled by someone else (deadline, cancelled): stop working on it where that is possible. */
  withdraw(call: Call, reason: string): void;
  /** The call is settled, however it ended; forget it. */
  release(call: Call): void;
}
