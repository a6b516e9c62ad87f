import { LineSplitter } from "./line-splitter.ts";
import { type CommandEnd, startProcessGroup } from "./process-group.ts";

/** Time between SIGTERM and SIGKILL for a cancelled command, in milliseconds. */
const CANCEL_GRACE_MS = 2_000;
const KEPT_LINES = 40;

export interface RunCommandOptions {
  readonly command: string;
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  /** Aborting it stops the command's whole process group. If it is already aborted, nothing is started. */
  readonly signal: AbortSignal;
  readonly onLine: (line: string) => void;
}

export interface CommandRun {
  readonly end: CommandEnd;
  /** The last lines of the output, at most 40. */
  readonly lastLines: readonly string[];
}

/** Runs a shell command to its end and reports its output line by line. Never rejects because of the command. */
export async function runCommand(options: RunCommandOptions): Promise<CommandRun> {
  if (options.signal.aborted)
    return { end: { code: null, signal: null, problem: "was cancelled before it started" }, lastLines: [] };
  const lastLines: string[] = [];
  const onLine = (line: string): void => {
    lastLines.push(line);
    if (lastLines.length > KEPT_LINES) lastLines.shift();
    options.onLine(line);
  };
  const group = startProcessGroup({
    ...options,
    capture: (streams) => {
      for (const stream of [streams.stdout, streams.stderr]) {
        const lines = new LineSplitter(onLine);
        stream.on("data", (chunk: Buffer) => lines.push(chunk)).on("end", () => lines.end());
      }
    },
  });
  const cancel = (): void => {
    // Not awaited here, because `group.ended` is awaited below.
    void group.stop({ graceMs: CANCEL_GRACE_MS });
  };
  options.signal.addEventListener("abort", cancel, { once: true });
  const end = await group.ended;
  options.signal.removeEventListener("abort", cancel);
  return { end, lastLines };
}
