/** Time comes in by this door, so that tests move it by hand. */
export interface Clock {
  /** Milliseconds from an arbitrary start; never goes back. */
  monotonicMs(): number;
  /** Runs `action` once after `delayMs`. Returns how to call it off. `background`: a process with nothing else to do need not wait for it. */
  after(delayMs: number, action: () => void, options?: { readonly background?: boolean }): () => void;
}

export const systemClock: Clock = {
  monotonicMs: () => performance.now(),
  after(delayMs, action, options) {
    const timer = setTimeout(action, delayMs);
    // In browsers a timer is a number, and pages end without asking for it.
    if (options?.background === true && typeof timer === "object") timer.unref();
    return () => clearTimeout(timer);
  },
};
