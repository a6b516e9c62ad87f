/** Time comes in by this door, so that tests move it by hand. */
export interface Clock {
  /** Milliseconds from an arbitrary start; never goes back. */
  monotonicMs(): number;
  /** Runs `action` once after `delayMs`. Returns how to call it off. */
  after(delayMs: number, action: () => void): () => void;
}

export const systemClock: Clock = {
  monotonicMs: () => performance.now(),
  after(delayMs, action) {
    const timer = setTimeout(action, delayMs);
    return () => clearTimeout(timer);
  },
};
