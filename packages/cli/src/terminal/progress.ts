import type { Shell } from "../shell.ts";

const FRAMES = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"] as const;
const FRAME_MS = 100;
const CLEAR_LINE = "\r\u001b[K";
/**
 * Text that the terminal prints after the line when the user presses Ctrl-C. The line must leave space for it: clearing
 * removes only one line.
 */
const INTERRUPT = "^C";

/** Progress display of a slow step. */
export interface Progress {
  /** Shows the latest output of the step, e.g. a line of npm. */
  say(line: string): void;
  /** Removes the display. The caller prints the result. */
  end(): void;
}

/**
 * Shows that a step is running. On a terminal it shows one line with a spinner, the seconds and the latest output;
 * otherwise plain lines.
 */
export function showProgress(shell: Shell, title: string): Progress {
  if (shell.noteColumns === undefined) {
    shell.note(`${title} ...\n`);
    const say = (line: string): void => {
      if (line.trim() !== "") shell.note(`  | ${line}\n`);
    };
    return { say, end: () => {} };
  }

  const startedMs = performance.now();
  const columns = shell.noteColumns;
  let newest = "";
  let frame = 0;
  const draw = (): void => {
    const seconds = Math.floor((performance.now() - startedMs) / 1000);
    const head = `${FRAMES[frame % FRAMES.length]} ${title} ${seconds} s`;
    const tail = newest === "" ? "" : `  ${newest}`;
    frame += 1;
    const line = `${head}${tail}`.slice(0, Math.max(10, columns - 1 - INTERRUPT.length));
    shell.note(`${CLEAR_LINE}${line.slice(0, head.length)}${shell.paint.dim(line.slice(head.length))}`);
  };
  draw();
  const timer = setInterval(draw, FRAME_MS);
  timer.unref();
  return {
    say: (line) => {
      newest = line.trim() || newest;
    },
    end: () => {
      clearInterval(timer);
      shell.note(CLEAR_LINE);
    },
  };
}

/** Formats a duration: `4.1 s`, `320 ms`, `2 min 5 s`. */
export function formatDuration(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1000).toFixed(1)} s`;
  const seconds = Math.round(ms / 1000);
  return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
}
