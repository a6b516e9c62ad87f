import { CallError, MAX_FRAME_BYTES, MAX_TIMEOUT_MS, Payload } from "@svc-runtime/protocol";
import type { NodeFrameOf } from "@svc-runtime/protocol/nodes";
import type { Call, Refusal } from "../call.ts";
import { providerGone } from "../call-errors.ts";
import type { Clock } from "../clock.ts";
import { PendingCalls } from "../pending-calls.ts";
import type { Router } from "../router.ts";
import { errorOf, payloadOf } from "./call-payloads.ts";
import type { Peer } from "./peer.ts";

export interface OutgoingCallPorts {
  readonly router: Pick<Router, "settle" | "refused">;
  readonly clock: Clock;
  /** Maximum calls in flight at one peer. */
  readonly maxCallsHeld: number;
}

/**
 * The calls that this node sent to one peer. Answers of the peer are looked up only among these calls, so a peer cannot
 * settle a call that another peer got. When the peer is gone, exactly these calls fail.
 */
export class OutgoingCalls {
  readonly #peer: Peer;
  readonly #ports: OutgoingCallPorts;
  readonly #held = new PendingCalls();

  constructor(peer: Peer, ports: OutgoingCallPorts) {
    this.#peer = peer;
    this.#ports = ports;
  }

  get run(): string {
    return this.#peer.run;
  }

  get name(): string {
    return this.#peer.name;
  }

  get size(): number {
    return this.#held.size;
  }

  /** Estimated number of calls in flight at the peer: the number in its last report plus the calls of this node. */
  get load(): number {
    return (this.#peer.hello?.load ?? 0) + this.#held.size;
  }

  get isDraining(): boolean {
    return this.#peer.isDraining;
  }

  refusal(): Refusal | undefined {
    return this.#held.size >= this.#ports.maxCallsHeld || this.#peer.isFull ? "overloaded" : undefined;
  }

  deliver(call: Call): CallError | undefined {
    const { id, functionId, traceparent, baggage, metadata, caller, job } = call;
    if (this.#held.has(id))
      return new CallError("invalid_message", `invocation_id ${id} is already in use by a call in flight`);
    const payload = call.payload.bytes();
    const bytes = payload.length + (metadata?.byteLength ?? 0);
    if (bytes > MAX_FRAME_BYTES)
      return new CallError(
        "payload_too_large",
        `the payload for ${functionId} has ${bytes} bytes; the limit is ${MAX_FRAME_BYTES}`,
        { details: { bytes, limit: MAX_FRAME_BYTES } },
      );
    this.#held.hold(call);
    call.isUnsent = this.#peer.trackNextFrame();
    // The frame has the remaining time and not the deadline, because the clocks of the nodes differ. This node itself
    // lets the call time out at its deadline.
    const leftMs = Math.ceil(call.deadlineAt - this.#ports.clock.monotonic());
    this.#peer.send(
      {
        type: "call",
        id,
        function_id: functionId,
        timeout_ms: Math.max(1, Math.min(leftMs, MAX_TIMEOUT_MS)),
        traceparent,
        baggage,
        metadata: metadata?.text(),
        caller,
        job,
      },
      payload,
    );
    return undefined;
  }

  withdraw(call: Call, reason: string): void {
    this.#peer.send({ type: "cancel", id: call.id, reason: reason.slice(0, 1024) });
  }

  release(call: Call): void {
    this.#held.release(call);
  }

  /** A worker of the peer got the call. So the call is not sent to another provider, and its payload is not needed. */
  accepted({ id }: NodeFrameOf<"accepted">): void {
    const call = this.#held.get(id);
    if (call !== undefined) call.payload = Payload.null;
  }

  /** Settles the call of an answer. Has no effect if the call is settled already. */
  answered({ id, outcome, traceparent, baggage }: NodeFrameOf<"answer">, payload: Uint8Array): void {
    const call = this.#held.get(id);
    if (call === undefined) return;
    const { router } = this.#ports;
    if (outcome === "ok") router.settle(call, { ok: true, result: payloadOf(payload), traceparent, baggage });
    else if (outcome === "error") router.settle(call, { ok: false, error: errorOf(payload) });
    else router.refused(call, errorOf(payload));
  }

  /** The peer is gone: fails all its calls. */
  end(reason: string): void {
    for (const call of this.#held.all()) {
      // A call that was sent may have run even if the peer has not acknowledged it: the acknowledgement may be lost.
      const details = { node: this.#peer.name, reason: `the worker's node is gone: ${reason}` };
      this.#ports.router.settle(call, providerGone(call, details));
    }
  }
}
