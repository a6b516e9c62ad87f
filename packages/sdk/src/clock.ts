/** Source of time. Tests replace it by a manual clock. */
export interface Clock {
  /** Milliseconds since an arbitrary start. Never decreases. */
  monotonicMs(): number;
  /**
   * Runs `action` once after `delayMs` milliseconds. Returns a function that cancels it. A `background` timer does not
   * keep the process running.
   */
  after(delayMs: number, action: () => void, options?: { readonly background?: boolean }): () => void;
}

export const systemClock: Clock = {
  monotonicMs: () => performance.now(),
  after(delayMs, action, options) {
    const timer = setTimeout(action, delayMs);
    // In browsers a timer is a number, without `unref`.
    if (options?.background === true && typeof timer === "object") timer.unref();
    return () => clearTimeout(timer);
  },
};
