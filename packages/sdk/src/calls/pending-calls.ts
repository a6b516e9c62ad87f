import { CallError, MAX_TIMEOUT_MS } from "@svc-runtime/protocol/client";

/** Maximum number of calls that wait for the connection. Further calls fail. */
export const MAX_QUEUED_CALLS = 1000;

/** A call whose result has not arrived. It ends exactly once. */
export class PendingCall {
  readonly functionId: string;
  /** Undefined for a void call. A void call ends when it is sent. */
  readonly invocationId: string | undefined;
  /** True if the caller wants the whole frame, to read the text of the result from it. */
  readonly wantsFrame: boolean;
  readonly #hasOwnDeadline: boolean;
  timeoutMs: number;
  deadlineMs: number;
  /** The frame, while the call waits for the connection. Undefined after the frame was sent. */
  waiting: string | undefined;
  ended = false;
  /** Called when the call ends in any way. It is set to release resources of the call. */
  onEnd: (() => void) | undefined;
  readonly #resolve: (result: unknown) => void;
  readonly #reject: (error: CallError) => void;

  constructor(
    fields: {
      readonly functionId: string;
      readonly invocationId: string | undefined;
      readonly timeoutMs: number;
      /** True if the caller or the worker's options set the deadline. */
      readonly hasOwnDeadline: boolean;
      readonly deadlineMs: number;
      readonly wantsFrame?: boolean;
    },
    resolve: (result: unknown) => void,
    reject: (error: CallError) => void,
  ) {
    this.functionId = fields.functionId;
    this.invocationId = fields.invocationId;
    this.timeoutMs = fields.timeoutMs;
    this.deadlineMs = fields.deadlineMs;
    this.#hasOwnDeadline = fields.hasOwnDeadline;
    this.wantsFrame = fields.wantsFrame ?? false;
    this.#resolve = resolve;
    this.#reject = reject;
  }

  /**
   * Moves the deadline to the maximum, unless the caller or the worker's options set it. A svc engine ends every call
   * at its deadline, and the deadline may be one with which the function is registered. The default deadline of this
   * side must not expire before that.
   */
  leaveDeadlineToEngine(): void {
    if (this.#hasOwnDeadline) return;
    this.deadlineMs += MAX_TIMEOUT_MS - this.timeoutMs;
    this.timeoutMs = MAX_TIMEOUT_MS;
  }

  resolve(result: unknown): void {
    this.#end();
    this.#resolve(result);
  }

  reject(error: CallError): void {
    this.#end();
    this.#reject(error);
  }

  #end(): void {
    this.ended = true;
    this.waiting = undefined;
    this.onEnd?.();
    this.onEnd = undefined;
  }
}

/**
 * The calls of this worker that have not ended: sent calls by id, and calls that wait for the connection, in order.
 * There is no timer per call: `earliestDeadlineMs` is the time at which `takeExpired` must be called next.
 */
export class PendingCalls {
  readonly #sent = new Map<string, PendingCall>();
  readonly #waiting = new Set<PendingCall>();
  #earliestDeadlineMs = Number.POSITIVE_INFINITY;

  /** A time at or before the first deadline. It may be too early, because it is not changed when a call ends. */
  get earliestDeadlineMs(): number {
    return this.#earliestDeadlineMs;
  }

  get size(): number {
    return this.#sent.size + this.#waiting.size;
  }

  get full(): boolean {
    return this.#waiting.size >= MAX_QUEUED_CALLS;
  }

  addSent(call: PendingCall, invocationId: string): void {
    this.#sent.set(invocationId, call);
    this.#noteDeadline(call);
  }

  addWaiting(call: PendingCall, frame: string): void {
    call.waiting = frame;
    this.#waiting.add(call);
    this.#noteDeadline(call);
  }

  #noteDeadline(call: PendingCall): void {
    if (call.deadlineMs < this.#earliestDeadlineMs) this.#earliestDeadlineMs = call.deadlineMs;
  }

  /** Removes and returns the sent call with this id. */
  take(invocationId: string): PendingCall | undefined {
    const call = this.#sent.get(invocationId);
    if (call !== undefined) this.#sent.delete(invocationId);
    return call;
  }

  remove(call: PendingCall): void {
    this.#waiting.delete(call);
    if (call.invocationId !== undefined && this.#sent.get(call.invocationId) === call)
      this.#sent.delete(call.invocationId);
  }

  /** Removes and returns the calls that wait for the connection, in the order in which they were made. */
  takeWaiting(): readonly PendingCall[] {
    const calls = [...this.#waiting];
    this.#waiting.clear();
    return calls;
  }

  sent(): Iterable<PendingCall> {
    return this.#sent.values();
  }

  /** Removes and returns the sent calls. */
  takeSent(): readonly PendingCall[] {
    const calls = [...this.#sent.values()];
    this.#sent.clear();
    return calls;
  }

  all(): readonly PendingCall[] {
    return [...this.#sent.values(), ...this.#waiting];
  }

  /** Removes and returns the calls whose deadline has passed. */
  takeExpired(nowMs: number): readonly PendingCall[] {
    if (nowMs < this.#earliestDeadlineMs) return [];
    const expired: PendingCall[] = [];
    let earliest = Number.POSITIVE_INFINITY;
    for (const calls of [this.#sent.values(), this.#waiting.values()]) {
      for (const call of calls) {
        if (call.deadlineMs <= nowMs) expired.push(call);
        else if (call.deadlineMs < earliest) earliest = call.deadlineMs;
      }
    }
    this.#earliestDeadlineMs = earliest;
    for (const call of expired) this.remove(call);
    return expired;
  }
}

export function callTimeout({ functionId, timeoutMs }: PendingCall, addition = ""): CallError {
  const message = `Function ${functionId} did not answer within ${timeoutMs} ms${addition}`;
  return new CallError("call_timeout", message, { details: { function_id: functionId, timeout_ms: timeoutMs } });
}
