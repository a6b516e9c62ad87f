import { CallError, MAX_TIMEOUT_MS } from "@svc-runtime/protocol/client";

/** Maximum number of calls that wait for the connection. Further calls fail. */
export const MAX_QUEUED_CALLS = 1000;

/** A call that awaits its result. Ends exactly once. */
export class PendingCall {
  readonly functionId: string;
  /** Undefined for a void call, which ends when it is sent. */
  readonly invocationId: string | undefined;
  /** Whether the caller wants the whole frame, to read the text of the result in it. */
  readonly wantsFrame: boolean;
  readonly #hasOwnDeadline: boolean;
  timeoutMs: number;
  deadlineMs: number;
  /** The frame while it waits for the connection. Undefined once sent. */
  waiting: string | undefined;
  ended = false;
  /** Runs when the call ends, in any way. Set to release what belongs to the call. */
  onEnd: (() => void) | undefined;
  readonly #resolve: (result: unknown) => void;
  readonly #reject: (error: CallError) => void;

  constructor(
    fields: {
      readonly functionId: string;
      readonly invocationId: string | undefined;
      readonly timeoutMs: number;
      /** Whether the caller or the worker's options set the deadline. */
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
   * Moves the deadline to the maximum, unless it was set on this side. A svc engine answers every call at its deadline.
   * The function may have registered its own deadline, so this side's default must not expire first.
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
 * The calls of this worker without an answer: sent calls by id, and calls that wait for the connection, in order.
 * Deadlines need no timer per call: `earliestDeadlineMs` says when `takeExpired` has work to do next.
 */
export class PendingCalls {
  readonly #sent = new Map<string, PendingCall>();
  readonly #waiting = new Set<PendingCall>();
  #earliestDeadlineMs = Number.POSITIVE_INFINITY;

  /** Not later than the first deadline. May be earlier, since calls that end do not change it. */
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

  /** Removes and returns the calls that wait for the connection, in the order they were made. */
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
