import { readFileSync } from "node:fs";
import { createContext, Script } from "node:vm";

/** Thrown when work exceeds its time limit. */
export class TimeLimitError extends Error {
  constructor(ms: number) {
    super(`not done within ${ms} ms`);
    this.name = "TimeLimitError";
  }
}

// Only this can interrupt a regular expression: V8 checks the watchdog of a script between steps of the matching.
const runner = new Script("run()");
const context: { run: () => void } = { run: () => {} };
createContext(context);

/**
 * Share of the limit that this thread must have spent on a processor. With less, the machine was busy and `work` was
 * not slow.
 */
const OWN_SHARE = 0.5;
const MAX_ATTEMPTS = 3;

/**
 * Runs `work` and throws TimeLimitError if it takes longer than `ms`. Costs about a tenth of a millisecond. Must not be
 * nested. If a busy machine gave the thread too little processor time, `work` runs again, after `prepare`.
 */
export function withinTime<T>(ms: number, work: () => T, prepare: () => void = () => {}): T {
  for (let attempt = 1; ; attempt++) {
    const before = processorMs();
    try {
      return runOnce(ms, work);
    } catch (error) {
      const isSlow = processorMs() - before >= ms * OWN_SHARE;
      if (!(error instanceof TimeLimitError) || isSlow || attempt === MAX_ATTEMPTS) throw error;
      prepare();
    }
  }
}

function runOnce<T>(ms: number, work: () => T): T {
  let result: { readonly value: T } | undefined;
  context.run = () => {
    result = { value: work() };
  };
  try {
    runner.runInContext(context, { timeout: ms });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ERR_SCRIPT_EXECUTION_TIMEOUT") throw new TimeLimitError(ms);
    throw error;
  } finally {
    context.run = () => {};
  }
  return (result as unknown as { readonly value: T }).value;
}

/**
 * Returns the processor time of this thread so far, in milliseconds; if the system does not count it, that of the
 * process, which is never less. Source: https://docs.kernel.org/scheduler/sched-stats.html, /proc/<pid>/schedstat.
 */
function processorMs(): number {
  try {
    const nanoseconds = Number(readFileSync("/proc/thread-self/schedstat", "latin1").split(" ", 1)[0]);
    if (nanoseconds > 0) return nanoseconds / 1e6;
  } catch {
    // Not Linux.
  }
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
}
