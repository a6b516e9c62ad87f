/** Growth of the delay between attempts. */
export interface BackoffOptions {
  /** Delay after the first failure, in milliseconds. */
  readonly firstMs: number;
  /** Maximum delay in milliseconds, jitter included. */
  readonly maxMs: number;
  /** Random variation of the delay, as a fraction from 0 to 1. */
  readonly jitter: number;
  /**
   * `exponential` multiplies the delay by `factor` after each failure, `linear` adds `firstMs`, `fixed` keeps it.
   * Default: `exponential`.
   */
  readonly growth?: "exponential" | "linear" | "fixed";
  /** Default 2. */
  readonly factor?: number;
}

/**
 * Returns the delay in milliseconds before the next attempt. `failures` counts from 1. `random` returns numbers from 0
 * up to 1.
 */
export function backoffMs(options: BackoffOptions, failures: number, random: () => number = Math.random): number {
  const { firstMs, maxMs, jitter, growth = "exponential", factor = 2 } = options;
  const growthFactor = growth === "exponential" ? factor ** (failures - 1) : growth === "linear" ? failures : 1;
  // After many failures the growth factor is infinite, and 0 times infinity would be NaN.
  const delayMs = firstMs === 0 ? 0 : Math.min(maxMs, firstMs * growthFactor);
  return Math.round(Math.min(maxMs, delayMs * (1 - jitter + 2 * jitter * random())));
}
