/** A source of time. Tests replace it with a clock that they control. */
export interface Clock {
  /** Milliseconds since an arbitrary start. Never decreases. */
  monotonicMs(): number;
  /**
   * Calls `action` once after `delayMs` milliseconds. Returns a function that cancels this. A `background` timer does
   * not keep the process running.
   */
  after(delayMs: number, action: () => void, options?: { readonly background?: boolean }): () => void;
}

export const systemClock: Clock = {
  monotonicMs: () => performance.now(),
  after(delayMs, action, options) {
    const timer = setTimeout(action, delayMs);
    // In browsers, a timer is a number, which has no `unref`.
    if (options?.background === true && typeof timer === "object") timer.unref();
    return () => clearTimeout(timer);
  },
};
