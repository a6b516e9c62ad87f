import { readdirSync, readFileSync } from "node:fs";

/** Returns true while the process runs; false for a zombie. */
export function isRunning(pid: number): boolean {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    return stat.slice(stat.lastIndexOf(")") + 2, stat.lastIndexOf(")") + 3) !== "Z";
  } catch {
    return false;
  }
}

/** Sends SIGKILL to a process that must exist. Pid 0 would be the test runner's own process group. */
export function killHard(pid: number | undefined): void {
  if (!pid) throw new Error("There is no such process to kill.");
  process.kill(pid, "SIGKILL");
}

/** Returns the CPU time of a process in seconds: user and system time of all threads, in steps of 10 ms. */
export function processorSeconds(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return (Number(fields[11]) + Number(fields[12])) / 100;
}

/**
 * Returns the pids of running processes whose working folder is in `dir`: everything that was started for a project,
 * whatever its parent is.
 */
export function processesIn(dir: string): number[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => pid !== process.pid && isRunning(pid) && workingFolder(pid).startsWith(dir));
}

/**
 * Returns the command line of a process; for an interpreter including the program. Our launcher, which also names the
 * program, is skipped.
 */
export function commandOf(pid: number): string {
  try {
    const words = readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0");
    return words.includes("svc-launcher") ? "" : words.join(" ");
  } catch {
    return "";
  }
}

function workingFolder(pid: number): string {
  try {
    return (
      readFileSync(`/proc/${pid}/environ`, "utf8")
        .split("\0")
        .find((line) => line.startsWith("PWD="))
        ?.slice(4) ?? ""
    );
  } catch {
    return "";
  }
}

/**
 * Resolves when the condition is true; rejects after `timeoutMs`. For events without a notification, such as a process
 * that exits.
 */
export async function eventually(
  what: string,
  condition: () => boolean | Promise<boolean>,
  timeoutMs = 20_000,
): Promise<void> {
  const until = performance.now() + timeoutMs;
  while (!(await condition())) {
    if (performance.now() > until) throw new Error(`not within ${timeoutMs} ms: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
