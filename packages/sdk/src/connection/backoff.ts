import { backoffMs } from "@svc-runtime/protocol/client";
import { checkedOptions, optionNames } from "../names/option-names.ts";

export interface ReconnectOptions {
  /** Pause before the first retry, in milliseconds. Default 1,000. */
  readonly initialDelayMs?: number | undefined;
  /** Factor by which each pause is longer than the one before. Default 2. */
  readonly multiplier?: number | undefined;
  /** Maximum pause in milliseconds, including the jitter. Default 30,000. */
  readonly maxDelayMs?: number | undefined;
  /** Random variation of each pause, as a fraction from 0 to 1. Default 0.3. */
  readonly jitter?: number | undefined;
  /** Number of failed attempts after which the worker gives up (state `failed`). Default: unlimited. */
  readonly maxAttempts?: number | undefined;
}

const names = optionNames("reconnect", ["initialDelayMs", "multiplier", "maxDelayMs", "jitter", "maxAttempts"]);

/** Maximum pause before an attempt at another address, in milliseconds. */
const SOON_MS = 100;

/** Computes the pause before the next connection attempt. The pauses grow with each attempt, until `reset`. */
export class Backoff {
  readonly #initialDelayMs: number;
  readonly #multiplier: number;
  readonly #maxDelayMs: number;
  readonly #jitter: number;
  readonly #maxAttempts: number;
  readonly #random: () => number;
  #attempts = 0;

  /**
   * `random` returns numbers from 0 up to 1.
   *
   * @throws TypeError for values out of range and unknown options.
   */
  constructor(given: ReconnectOptions = {}, random: () => number = Math.random) {
    const options = checkedOptions(given, names);
    this.#initialDelayMs = inRange("reconnect.initialDelayMs", options.initialDelayMs ?? 1000, 0, 86_400_000);
    this.#multiplier = inRange("reconnect.multiplier", options.multiplier ?? 2, 1, 100);
    this.#maxDelayMs = inRange("reconnect.maxDelayMs", options.maxDelayMs ?? 30_000, 0, 86_400_000);
    this.#jitter = inRange("reconnect.jitter", options.jitter ?? 0.3, 0, 1);
    this.#maxAttempts = inRange(
      "reconnect.maxAttempts",
      options.maxAttempts ?? Number.POSITIVE_INFINITY,
      0,
      Number.POSITIVE_INFINITY,
    );
    this.#random = random;
  }

  /** Number of attempts since the last reset. */
  get attempts(): number {
    return this.#attempts;
  }

  /**
   * Returns the pause before an attempt at another address, in milliseconds. It is short. It is random, so that not all
   * workers connect at the same time.
   */
  soon(): number {
    return Math.round(this.#random() * SOON_MS);
  }

  /** Returns the pause before the next attempt in milliseconds. Returns undefined if no attempt is left. */
  next(): number | undefined {
    if (this.#attempts >= this.#maxAttempts) return undefined;
    this.#attempts++;
    const options = {
      firstMs: this.#initialDelayMs,
      maxMs: this.#maxDelayMs,
      jitter: this.#jitter,
      factor: this.#multiplier,
    };
    return backoffMs(options, this.#attempts, this.#random);
  }

  reset(): void {
    this.#attempts = 0;
  }
}

function inRange(name: string, value: number, low: number, high: number): number {
  if (typeof value === "number" && value >= low && value <= high) return value;
  throw new TypeError(`${name} must be a number from ${low} to ${high}, not ${String(value)}`);
}
