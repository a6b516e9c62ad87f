import { CallError, type Caller, type InvocationId, Payload } from "@svc-runtime/protocol";
import type { NodeFrameOf } from "@svc-runtime/protocol/nodes";
import type { Call, Outcome } from "../call.ts";
import type { Router } from "../router.ts";
import { bytesOfError, payloadOf } from "./call-payloads.ts";
import type { Peer } from "./peer.ts";

/**
 * For larger payloads, `accepted` is sent, so that the sender can drop the payload before the answer. For smaller ones,
 * the frame would cost more than the memory.
 */
const KEPT_PAYLOAD_BYTES = 4 * 1024;
/** Maximum number of remembered callers. */
const MAX_CALLERS = 10_000;
/** Results above this many bytes are not sent to a peer that reads too slowly. */
const SMALL_ANSWER_BYTES = 4 * 1024;

export interface RemoteCallPorts {
  readonly router: Pick<Router, "start" | "cancel">;
  /** Maximum calls in flight of one peer. */
  readonly maxCallsHeld: number;
}

/** The calls that one peer sent to this node. They are cancelled when the peer is gone. */
export class RemoteCalls {
  readonly #peer: Peer;
  readonly #ports: RemoteCallPorts;
  readonly #calls = new Map<InvocationId, Call>();
  /** Callers by worker id. All calls of a caller have the same object, like the calls of a worker of this node. */
  readonly #callers = new Map<string, Caller>();

  constructor(peer: Peer, ports: RemoteCallPorts) {
    this.#peer = peer;
    this.#ports = ports;
  }

  /** Starts a call of the peer. Throws an Error if the peer violates the protocol. */
  start(frame: NodeFrameOf<"call">, bytes: Uint8Array): void {
    const { id, function_id: functionId, metadata } = frame;
    if (this.#calls.has(id)) throw new Error(`it repeats the call ${id}, which is in flight`);
    if (this.#calls.size >= this.#ports.maxCallsHeld) {
      const error = new CallError("worker_overloaded", `the node has ${this.#calls.size} calls in flight of one peer`);
      this.#peer.send({ type: "answer", id, outcome: "not_accepted" }, bytesOfError(error));
      return;
    }
    let isAccepted = false;
    const call = this.#ports.router.start({
      id,
      functionId,
      payload: payloadOf(bytes) ?? Payload.null,
      timeoutMs: frame.timeout_ms,
      fallbackTimeoutMs: frame.timeout_ms,
      traceparent: frame.traceparent,
      baggage: frame.baggage,
      metadata: metadata === undefined ? undefined : Payload.fromText(metadata),
      caller: frame.caller && this.#known(frame.caller),
      job: frame.job,
      whileDraining: false,
      // The caller's node chose this node. If this node passed the call on, the call could travel in a cycle.
      onlyHere: true,
      onSettled: (outcome) => this.#answer(frame, outcome, isAccepted),
    });
    if (call === undefined) return;
    this.#calls.set(id, call);
    if (bytes.length <= KEPT_PAYLOAD_BYTES) return;
    isAccepted = true;
    this.#peer.send({ type: "accepted", id });
  }

  #known(caller: Caller): Caller {
    const known = this.#callers.get(caller.worker_id);
    if (known?.name === caller.name) return known;
    if (this.#callers.size >= MAX_CALLERS) this.#callers.clear();
    this.#callers.set(caller.worker_id, caller);
    return caller;
  }

  cancel({ id, reason }: NodeFrameOf<"cancel">): void {
    const call = this.#calls.get(id);
    if (call !== undefined) this.#ports.router.cancel(call, reason);
  }

  /** The peer is gone: cancels its calls. */
  end(): void {
    for (const call of [...this.#calls.values()]) this.#ports.router.cancel(call, "the caller's node is gone");
  }

  #answer({ id, function_id: functionId }: NodeFrameOf<"call">, outcome: Outcome, isAccepted: boolean): void {
    this.#calls.delete(id);
    if (!outcome.ok) {
      const { error, cause } = outcome;
      // No worker got the call, so the sender may try another node. But it cannot if it has dropped the payload, which
      // it does after `accepted`.
      const isNotAccepted = cause === "not_delivered" && error.retryable && !isAccepted;
      const bytes = bytesOfError(error);
      const payload = this.#hasRoomFor(bytes) ? bytes : bytesOfError(dropped(functionId, error.executed));
      this.#peer.send({ type: "answer", id, outcome: isNotAccepted ? "not_accepted" : "error" }, payload);
      return;
    }
    const { result, traceparent, baggage } = outcome;
    const bytes = result?.bytes();
    if (bytes !== undefined && !this.#hasRoomFor(bytes)) {
      this.#peer.send({ type: "answer", id, outcome: "error" }, bytesOfError(dropped(functionId, "yes")));
      return;
    }
    this.#peer.send({ type: "answer", id, outcome: "ok", traceparent, baggage }, bytes);
  }

  #hasRoomFor({ length }: Uint8Array): boolean {
    return length <= SMALL_ANSWER_BYTES || this.#peer.hasRoomFor(length);
  }
}

function dropped(functionId: string, executed: CallError["executed"]): CallError {
  const problem = `the answer of ${functionId} was dropped: the node of its caller does not read`;
  return new CallError("overloaded", problem, { details: { executed } });
}
