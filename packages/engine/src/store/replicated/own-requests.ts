import { CallError } from "@svc-runtime/protocol";
import type { Clock } from "../../kernel/clock.ts";
import type { Answer, Request } from "../thread-messages.ts";

/** A request of this node that has no answer yet. */
export interface OwnRequest {
  readonly request: Request;
  /** The request as JSON; undefined for a read, which is not part of an entry. */
  readonly text: string | undefined;
  readonly bytes: number;
  readonly mark: unknown;
  readonly deadline: number;
  readonly resolve: (output: unknown) => void;
  readonly reject: (error: CallError) => void;
  /** True after the request was rejected because of its deadline. */
  expired: boolean;
}

export interface OwnRequestsOptions {
  readonly clock: Clock;
  readonly maxRequests: number;
  readonly maxBytes: number;
  /** Maximum time that a request waits for the log, in milliseconds. */
  readonly stallMs: number;
}

/** Memory that is counted for each request in addition to its data, in bytes. */
const REQUEST_OVERHEAD_BYTES = 256;

/** Requests of this node: those that wait for the next entry, and those of the entry in flight. */
export class OwnRequests {
  readonly #options: OwnRequestsOptions;
  #waiting: OwnRequest[] = [];
  #inFlight: readonly OwnRequest[] = [];
  #count = 0;
  #bytes = 0;
  #cancelSweep: (() => void) | undefined;

  constructor(options: OwnRequestsOptions) {
    this.#options = options;
  }

  /** True if no request is pending. */
  get isEmpty(): boolean {
    return this.#count === 0;
  }

  /** True if the entry in flight has waited for the log longer than `stallMs`. */
  get isStalled(): boolean {
    const [oldest] = this.#inFlight;
    return oldest !== undefined && oldest.deadline <= this.#options.clock.monotonic();
  }

  get hasWaiting(): boolean {
    return this.#waiting.length > 0;
  }

  /** Adds a request. Returns an error if the request is refused. */
  add(given: Omit<OwnRequest, "deadline" | "expired">): CallError | undefined {
    const bytes = given.bytes + REQUEST_OVERHEAD_BYTES;
    const { clock, maxRequests, maxBytes, stallMs } = this.#options;
    const now = clock.monotonic();
    if (this.isStalled)
      return storeUnavailable(`the log of the store has not answered for ${stallMs} ms`, "not_written");
    if (this.#count >= maxRequests || (this.#count > 0 && this.#bytes + bytes > maxBytes))
      return new CallError("overloaded", `too many pending requests to the store: ${this.#count}; try again shortly`, {
        details: { requests: this.#count, bytes: this.#bytes, max_requests: maxRequests, max_bytes: maxBytes },
      });
    this.#count += 1;
    this.#bytes += bytes;
    this.#waiting.push({ ...given, bytes, deadline: now + stallMs, expired: false });
    this.#cancelSweep ??= clock.after(stallMs, () => this.#expire());
    return undefined;
  }

  /** Takes the requests of the next entry: as many as fit into `maxBytes`, but at least one. */
  take(maxBytes: number): readonly OwnRequest[] {
    let size = 0;
    const end = this.#waiting.findIndex(({ text }, index) => {
      size += text === undefined ? 0 : Buffer.byteLength(text) + 1;
      return index > 0 && size > maxBytes;
    });
    this.#inFlight = this.#waiting.splice(0, end === -1 ? this.#waiting.length : end);
    return this.#inFlight;
  }

  /** Settles the requests of the entry in flight. Calls `onDone` before the promise of a request settles. */
  settle(given: readonly Answer[], onDone: (own: OwnRequest, output: unknown) => void): void {
    const settled = this.#inFlight;
    this.#inFlight = [];
    const answers = given.length === settled.length ? given : answersAfterRestart(settled, given);
    settled.forEach((own, index) => {
      this.#release(own);
      const answer = answers[index];
      if (answer?.status === "done") onDone(own, answer.output);
      if (!own.expired) settleWith(own, answer);
    });
  }

  /**
   * Rejects all requests. `inFlight` is the outcome of the requests in flight. It is `unknown` by default, because
   * their entry may be in the log.
   */
  fail(error: (outcome: Outcome) => CallError, inFlight: Outcome = "unknown"): void {
    const [sent, waiting] = [this.#inFlight, this.#waiting];
    this.#inFlight = [];
    this.#waiting = [];
    for (const [requests, outcome] of [
      [sent, inFlight],
      [waiting, "not_written"],
    ] as const)
      for (const own of requests) {
        this.#release(own);
        if (!own.expired) own.reject(error(own.text === undefined ? "not_written" : outcome));
      }
    this.#cancelSweep?.();
    this.#cancelSweep = undefined;
  }

  #release({ bytes }: OwnRequest): void {
    this.#count -= 1;
    this.#bytes -= bytes;
    if (this.#count > 0) return;
    this.#cancelSweep?.();
    this.#cancelSweep = undefined;
  }

  /** Rejects the requests that have waited too long. An entry in flight stays in flight until its outcome is known. */
  #expire(): void {
    this.#cancelSweep = undefined;
    const { clock } = this.#options;
    const now = clock.monotonic();
    for (const own of this.#inFlight) this.#expireOne(own, now, own.text === undefined ? "not_written" : "unknown");
    const late = this.#waiting.filter(({ deadline }) => deadline <= now);
    this.#waiting = this.#waiting.filter(({ deadline }) => deadline > now);
    for (const own of late) {
      this.#release(own);
      this.#expireOne(own, now, "not_written");
    }
    const next = this.#inFlight.find(({ expired }) => !expired) ?? this.#waiting[0];
    if (next !== undefined) this.#cancelSweep = clock.after(Math.max(1, next.deadline - now), () => this.#expire());
  }

  #expireOne(own: OwnRequest, now: number, outcome: Outcome): void {
    if (own.expired || own.deadline > now) return;
    own.expired = true;
    const what = outcome === "unknown" ? "a write may still be executed" : "nothing was written";
    own.reject(
      storeUnavailable(`the log of the store did not answer within ${this.#options.stallMs} ms; ${what}`, outcome),
    );
  }
}

/** Outcome of a failed write. */
export type Outcome = "not_written" | "unknown";

export function storeUnavailable(reason: string, outcome: Outcome): CallError {
  return new CallError("store_unavailable", reason, { details: { reason, outcome } });
}

export function storageFailed(reason: string, outcome: Outcome): CallError {
  return new CallError("storage_failed", reason, { details: { reason, outcome } });
}

/** After the thread of a replica ended, only the answers to the last writes are known. */
function answersAfterRestart(requests: readonly OwnRequest[], answers: readonly Answer[]): (Answer | undefined)[] {
  const writes = requests.filter(({ text }) => text !== undefined);
  let next = answers.length - writes.length;
  return requests.map(({ text }) =>
    text === undefined ? { status: "failed", message: "the replica restarted during the read" } : answers[next++],
  );
}

function settleWith(own: Pick<OwnRequest, "resolve" | "reject">, answer: Answer | undefined): void {
  if (answer === undefined) own.reject(storageFailed("the replica restarted; the answer is lost", "unknown"));
  else if (answer.status === "done") own.resolve(answer.output);
  else if (answer.status === "refused")
    own.reject(new CallError(answer.code, answer.message, { details: answer.details }));
  else own.reject(storageFailed(answer.message, "not_written"));
}
