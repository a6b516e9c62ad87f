import { readdirSync, readFileSync } from "node:fs";

/** True while the process runs; one that has ended and waits to be reaped does not. */
export function isRunning(pid: number): boolean {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    return stat.slice(stat.lastIndexOf(")") + 2, stat.lastIndexOf(")") + 3) !== "Z";
  } catch {
    return false;
  }
}

/** Sends SIGKILL to a process that must be there: number 0 would mean whoever runs the tests. */
export function killHard(pid: number | undefined): void {
  if (!pid) throw new Error("There is no such process to kill.");
  process.kill(pid, "SIGKILL");
}

/** Processor time that a process has used so far, in seconds: user and system time of all its threads, in steps of 10 ms. */
export function processorSeconds(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return (Number(fields[11]) + Number(fields[12])) / 100;
}

/** Pids of running processes whose working folder lies in `dir`: everything that was started for a project, whoever its parent is now. */
export function processesIn(dir: string): number[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => pid !== process.pid && isRunning(pid) && workingFolder(pid).startsWith(dir));
}

/** The words a process was started with; of an interpreter the program too. Our own launcher, which names the program as well, is left out. */
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

/** Resolves when the condition holds; rejects after `timeoutMs`. For things that announce themselves to nobody, such as a process that ends. */
export async function eventually(what: string, condition: () => boolean | Promise<boolean>, timeoutMs = 20_000): Promise<void> {
  const until = performance.now() + timeoutMs;
  while (!(await condition())) {
    if (performance.now() > until) throw new Error(`not within ${timeoutMs} ms: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
