import { CallError, MAX_TIMEOUT_MS } from "@svc/protocol";

/** Calls that may wait for the connection at a time; above it a call is refused. */
export const MAX_QUEUED_CALLS = 1000;

/** What a caller waits for. Ends exactly once. */
export class PendingCall {
  readonly functionId: string;
  /** Undefined for a void call, which ends when it is written. */
  readonly invocationId: string | undefined;
  /** The caller wants the JSON text of the result. */
  readonly wantsText: boolean;
  readonly #namesDeadline: boolean;
  #timeoutMs: number;
  #deadlineMs: number;
  /** The frame while it waits for the connection; undefined once written. */
  waiting: string | undefined;
  ended = false;
  /** Set by whoever must let go of something when the call ends, however it ends. */
  onEnd: (() => void) | undefined;
  readonly #resolve: (result: unknown) => void;
  readonly #reject: (error: CallError) => void;

  constructor(
    fields: {
      readonly functionId: string;
      readonly invocationId: string | undefined;
      readonly timeoutMs: number;
      /** The caller named it, or the worker's options did. */
      readonly namesDeadline: boolean;
      readonly deadlineMs: number;
      readonly wantsText?: boolean;
    },
    resolve: (result: unknown) => void,
    reject: (error: CallError) => void,
  ) {
    this.functionId = fields.functionId;
    this.invocationId = fields.invocationId;
    this.#timeoutMs = fields.timeoutMs;
    this.#deadlineMs = fields.deadlineMs;
    this.#namesDeadline = fields.namesDeadline;
    this.wantsText = fields.wantsText ?? false;
    this.#resolve = resolve;
    this.#reject = reject;
  }

  get timeoutMs(): number {
    return this.#timeoutMs;
  }

  get deadlineMs(): number {
    return this.#deadlineMs;
  }

  /** An engine of ours answers every call at its deadline, and the function may have named one of its own: then ours must not come first. */
  leaveDeadlineToEngine(): void {
    if (this.#namesDeadline) return;
    this.#deadlineMs += MAX_TIMEOUT_MS - this.#timeoutMs;
    this.#timeoutMs = MAX_TIMEOUT_MS;
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
 * The calls of this worker that have no answer yet: written ones by id, and those that wait for the connection, in order.
 * Deadlines need no timer per call: `earliestDeadlineMs` says when `expire` has work to do next.
 */
export class PendingCalls {
  readonly #written = new Map<string, PendingCall>();
  readonly #waiting = new Set<PendingCall>();
  #earliestDeadlineMs = Number.POSITIVE_INFINITY;

  /** Never later than the first deadline; may be earlier, since calls that end do not move it. */
  get earliestDeadlineMs(): number {
    return this.#earliestDeadlineMs;
  }

  get size(): number {
    return this.#written.size + this.#waiting.size;
  }

  get full(): boolean {
    return this.#waiting.size >= MAX_QUEUED_CALLS;
  }

  addWritten(call: PendingCall, invocationId: string): void {
    this.#written.set(invocationId, call);
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

  /** Takes out the written call of this id. */
  take(invocationId: string): PendingCall | undefined {
    const call = this.#written.get(invocationId);
    if (call !== undefined) this.#written.delete(invocationId);
    return call;
  }

  remove(call: PendingCall): void {
    this.#waiting.delete(call);
    if (call.invocationId !== undefined && this.#written.get(call.invocationId) === call) this.#written.delete(call.invocationId);
  }

  /** Takes out and returns the calls that wait for the connection, in the order they were made. */
  takeWaiting(): readonly PendingCall[] {
    const calls = [...this.#waiting];
    this.#waiting.clear();
    return calls;
  }

  written(): Iterable<PendingCall> {
    return this.#written.values();
  }

  /** Takes out and returns the calls that were written. */
  takeWritten(): readonly PendingCall[] {
    const calls = [...this.#written.values()];
    this.#written.clear();
    return calls;
  }

  all(): readonly PendingCall[] {
    return [...this.#written.values(), ...this.#waiting];
  }

  /** Takes out and returns the calls whose deadline has come. */
  takeExpired(nowMs: number): readonly PendingCall[] {
    if (nowMs < this.#earliestDeadlineMs) return [];
    const expired: PendingCall[] = [];
    let earliest = Number.POSITIVE_INFINITY;
    for (const calls of [this.#written.values(), this.#waiting.values()]) {
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

export function callTimeout(call: PendingCall): CallError {
  return new CallError("call_timeout", `Function ${call.functionId} did not answer within ${call.timeoutMs} ms`, {
    details: { function_id: call.functionId, timeout_ms: call.timeoutMs },
  });
}
