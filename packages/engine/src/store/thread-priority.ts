import { getPriority, setPriority } from "node:os";

/** On a scale from -20 to 19, where 0 is normal. A thread of this value gets a tenth of the time of a normal one. */
const LOW = 10;

/**
 * Gives the calling thread less processor time than other threads while both have work, and lets those interrupt it.
 * Does nothing except on Linux: other systems have one priority per process.
 */
export function lowerThreadPriority(): void {
  if (process.platform !== "linux") return;
  try {
    if (getPriority(0) < LOW) setPriority(0, LOW);
  } catch {
    // A sandbox may forbid it. The thread then works as usual.
  }
}
