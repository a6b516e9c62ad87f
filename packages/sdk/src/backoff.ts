import { backoffMs } from "@svc/protocol";

export interface ReconnectOptions {
  /** Wait before the first new attempt, in milliseconds. Default 1,000. */
  readonly initialDelayMs?: number | undefined;
  /** Factor from one wait to the next. Default 2. */
  readonly multiplier?: number | undefined;
  /** Maximum wait in milliseconds, jitter included. Default 30,000. */
  readonly maxDelayMs?: number | undefined;
  /** Share of the wait by which it is randomly longer or shorter, 0 to 1. Default 0.3. */
  readonly jitter?: number | undefined;
  /** Attempts without a lasting connection after which the worker gives up (state `failed`). Default: never. */
  readonly maxAttempts?: number | undefined;
}

/** How long to wait before the next attempt to connect; grows with each attempt until `reset`. */
export class Backoff {
  readonly #initialDelayMs: number;
  readonly #multiplier: number;
  readonly #maxDelayMs: number;
  readonly #jitter: number;
  readonly #maxAttempts: number;
  readonly #random: () => number;
  #attempts = 0;

  /** Throws TypeError for values out of range. `random` gives numbers from 0 up to 1. */
  constructor(options: ReconnectOptions = {}, random: () => number = Math.random) {
    this.#initialDelayMs = within("reconnect.initialDelayMs", options.initialDelayMs ?? 1000, 0, 86_400_000);
    this.#multiplier = within("reconnect.multiplier", options.multiplier ?? 2, 1, 100);
    this.#maxDelayMs = within("reconnect.maxDelayMs", options.maxDelayMs ?? 30_000, 0, 86_400_000);
    this.#jitter = within("reconnect.jitter", options.jitter ?? 0.3, 0, 1);
    this.#maxAttempts = within("reconnect.maxAttempts", options.maxAttempts ?? Number.POSITIVE_INFINITY, 0, Number.POSITIVE_INFINITY);
    this.#random = random;
  }

  /** Attempts since the last reset. */
  get attempts(): number {
    return this.#attempts;
  }

  /** The wait before the next attempt in milliseconds, or undefined when there shall be none. */
  next(): number | undefined {
    if (this.#attempts >= this.#maxAttempts) return undefined;
    this.#attempts++;
    const options = { firstMs: this.#initialDelayMs, maxMs: this.#maxDelayMs, jitter: this.#jitter, factor: this.#multiplier };
    return backoffMs(options, this.#attempts, this.#random);
  }

  reset(): void {
    this.#attempts = 0;
  }
}

function within(name: string, value: number, low: number, high: number): number {
  if (typeof value === "number" && value >= low && value <= high) return value;
  throw new TypeError(`${name} must be a number from ${low} to ${high}, not ${String(value)}`);
}
