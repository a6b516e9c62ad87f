import { readFileSync } from "node:fs";
import { createContext, Script } from "node:vm";

/** Thrown when work exceeds its time limit. */
export class TimeLimitError extends Error {
  constructor(ms: number) {
    super(`not done within ${ms} ms`);
    this.name = "TimeLimitError";
  }
}

// Only a script with a timeout can interrupt a regular expression: V8 checks for the timeout between steps of the
// matching.
const runner = new Script("run()");
const context: { run: () => void } = { run: () => {} };
createContext(context);

/**
 * Minimum share of the limit that this thread must have spent on a processor. If it was less, the machine was busy, and
 * `work` itself was not slow.
 */
const OWN_SHARE = 0.5;
const MAX_ATTEMPTS = 3;

/**
 * Runs `work` and throws TimeLimitError if it takes longer than `ms`. This costs about a tenth of a millisecond. Calls
 * must not be nested. If the thread got too little processor time because the machine was busy, calls `prepare` and
 * runs `work` again.
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
 * Returns the processor time that this thread has used so far, in milliseconds. If the system does not count it per
 * thread, returns that of the process, which is never less. Source: https://docs.kernel.org/scheduler/sched-stats.html,
 * /proc/<pid>/schedstat.
 */
function processorMs(): number {
  try {
    const nanoseconds = Number(readFileSync("/proc/thread-self/schedstat", "latin1").split(" ", 1)[0]);
    if (nanoseconds > 0) return nanoseconds / 1e6;
  } catch {
    // Ignored: the system is not Linux.
  }
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
}
