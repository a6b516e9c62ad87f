import { getPriority, setPriority } from "node:os";

/** Nice value, from -20 to 19, where 0 is normal. A thread with this value gets a tenth of the time of a normal one. */
const LOW = 10;

/**
 * Gives the calling thread less processor time than other threads that have work too, and lets them interrupt it. Does
 * nothing except on Linux, because other systems have only one priority per process.
 */
export function lowerThreadPriority(): void {
  if (process.platform !== "linux") return;
  try {
    if (getPriority(0) < LOW) setPriority(0, LOW);
  } catch {
    // Ignored: a sandbox may forbid the change. The thread then keeps its priority.
  }
}
