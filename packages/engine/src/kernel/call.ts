import type { CallError, Caller, FunctionId, InvocationId, Job, Payload } from "@svc-runtime/protocol";
import type { Principal } from "../access/principal.ts";
import type { DeadlineItem } from "./deadline-buckets.ts";
import type { CallSpan } from "./telemetry-contract.ts";

/** The outcome of a call. `result` is undefined if the handler returned nothing. */
export type Outcome =
  | {
      readonly ok: true;
      readonly result: Payload | undefined;
      readonly traceparent?: string | undefined;
      readonly baggage?: string | undefined;
    }
  | { readonly ok: false; readonly error: CallError; readonly cause?: CallFailureCause };

/**
 * Why a call has no result from its provider. Absent if the provider returned an error, the call timed out or the
 * caller cancelled.
 * - `not_delivered`: no provider received the call.
 * - `provider_disconnected`: the provider may have received the call, and disconnected before it returned a result.
 */
export type CallFailureCause = "not_delivered" | "provider_disconnected";

/** A call as passed to the router. */
export interface CallRequest {
  readonly id: InvocationId;
  readonly functionId: FunctionId;
  readonly payload: Payload;
  /** If undefined, the function's own timeout applies. If the function has none, `fallbackTimeoutMs` applies. */
  readonly timeoutMs: number | undefined;
  /** Timeout if neither the call nor the function sets one. */
  readonly fallbackTimeoutMs: number;
  readonly traceparent: string | undefined;
  readonly baggage: string | undefined;
  readonly metadata: Payload | undefined;
  readonly caller: Caller | undefined;
  readonly job: Job | undefined;
  /** The principal for which the caller makes the call, if this is not the caller's own principal. */
  readonly onBehalfOf?: Principal | undefined;
  /** True for calls that finish other in-flight work. They are accepted while the engine drains. */
  readonly whileDraining: boolean;
  /** True for a call that came from another node. It is not passed on to a third node. */
  readonly onlyHere?: boolean | undefined;
  /** Called exactly once, possibly before `start` returns. */
  readonly onSettled: (outcome: Outcome) => void;
}

type Settled = CallRequest["onSettled"];

/** An in-flight call: created by the router, held by its provider, released when settled. */
export interface Call
  extends Omit<CallRequest, "payload" | "metadata" | "traceparent" | "onSettled">,
    DeadlineItem<Call> {
  /** Cleared when the call is settled, so that remaining references to the call do not keep the payload in memory. */
  payload: Payload;
  metadata: Payload | undefined;
  /** Trace context that the callee receives: the caller's, or that of the call's own span if the call is traced. */
  traceparent: string | undefined;
  /** Set while the call is traced and not settled. */
  span: CallSpan | undefined;
  onSettled: Settled;
  /** Runs the call. */
  provider: Provider;
  /** On the monotonic clock, milliseconds. */
  deadlineAt: number;
  effectiveTimeoutMs: number;
  settled: boolean;
  /**
   * True if a node refused the call before a worker got it, and the call was routed again. This happens at most once.
   */
  isRerouted: boolean;
  /**
   * To be called after the provider's connection has ended: returns whether it is certain that the call never left the
   * engine. Undefined if no other frame was queued before the call, because the call may have been sent at once.
   */
  isUnsent: (() => boolean) | undefined;
}

/** Why a provider takes no calls at the moment. */
export type Refusal = "draining" | "overloaded";

/** The node of a worker that is not connected here. */
export interface RemoteNode {
  /** The run of its engine. */
  readonly run: string;
  /** Name of its engine. */
  readonly name: string;
  /** Calls in flight on that node, as far as this node knows. */
  readonly load: number;
  /**
   * True if the node is draining. It still gets a call if no other node can run it, because it may have the last worker
   * of a function.
   */
  readonly isDraining: boolean;
}

/** Runs calls of functions: a worker's connection, a module, or a worker that is connected to another node. */
export interface Provider {
  readonly workerId: string;
  readonly name: string;
  /** True for modules. They precede workers: a worker cannot take over an engine function. */
  readonly builtIn: boolean;
  /** The owner of the functions. Other principals cannot provide the same ones. */
  readonly principal: Principal;
  /** Delivered calls that are not settled. */
  readonly inFlight: number;
  /** True if it gets a call only when no other provider can run it (`WorkerStandby`). */
  readonly isStandby: boolean;
  /**
   * True if the provider is leaving. It gets a call only if two conditions hold: the call finishes other in-flight
   * work, and no other provider can run it.
   */
  readonly isLeaving?: boolean;
  /** Set for a worker that is connected to another node. */
  readonly remote?: RemoteNode | undefined;
  refusal(): Refusal | undefined;
  /** Accepts the call, or returns why it cannot. The result comes through `router.settle`. */
  deliver(call: Call): CallError | undefined;
  /** The call was settled elsewhere (timed out or cancelled). The provider stops working on it if possible. */
  withdraw(call: Call, reason: string): void;
  /** The call is settled. The provider releases it. */
  release(call: Call): void;
}
