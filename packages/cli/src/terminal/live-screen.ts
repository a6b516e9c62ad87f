import { setTimeout as pause } from "node:timers/promises";
import { isTransient } from "../engine/engine-session.ts";
import type { Shell } from "../shell.ts";
import { outPaint } from "./colors.ts";

const ESCAPE = "\u001b";
/**
 * Switches to the alternate screen, so that the previous content can be restored later. Hides the cursor and turns off
 * line wrapping.
 */
const ENTER = `${ESCAPE}[?1049h${ESCAPE}[?25l${ESCAPE}[?7l`;
const LEAVE = `${ESCAPE}[?7h${ESCAPE}[?25h${ESCAPE}[?1049l`;
const HOME = `${ESCAPE}[H`;
const TO_LINE_END = `${ESCAPE}[K`;
const TO_SCREEN_END = `${ESCAPE}[J`;
/** Number of rows that is assumed if it is unknown. */
const DEFAULT_ROWS = 24;
const POLL_INTERVAL_MS = 1_000;

const FOOTER = "Updated every second; press Ctrl-C to stop.";

/** A terminal screen that shows one changing page. `end` restores the terminal. */
export class LiveScreen {
  readonly #shell: Pick<Shell, "out" | "outRows">;

  constructor(shell: Pick<Shell, "out" | "outRows">) {
    this.#shell = shell;
    shell.out(ENTER);
  }

  /** Shows as many of the lines as fit on the screen, and the footer below the lines. */
  show(lines: readonly string[], footer: string): void {
    const room = Math.max(1, (this.#shell.outRows() ?? DEFAULT_ROWS) - 2);
    const shown = lines.length <= room ? lines : [...lines.slice(0, room - 1), "…"];
    this.#shell.out(
      `${HOME}${[...shown, "", footer].map((line) => `${line}${TO_LINE_END}`).join("\r\n")}${TO_SCREEN_END}`,
    );
  }

  end(): void {
    this.#shell.out(LEAVE);
  }
}

/**
 * Shows a page until the user stops it. The page is read from the engine every second. The last page stays on the
 * terminal.
 */
export async function watchPage(shell: Shell, read: () => Promise<readonly string[]>): Promise<void> {
  const paint = outPaint(shell);
  let page = await read();
  const stop = new AbortController();
  const undo = shell.onStopSignal(() => stop.abort());
  const screen = new LiveScreen(shell);
  let footer = FOOTER;
  try {
    while (!stop.signal.aborted) {
      screen.show(page, paint.dim(footer));
      await pause(POLL_INTERVAL_MS, undefined, { signal: stop.signal }).catch(() => {});
      try {
        page = await read();
        footer = FOOTER;
      } catch (error) {
        if (!isTransient(error)) throw error;
        footer = "The engine does not respond; showing the last known state. Press Ctrl-C to stop.";
      }
    }
  } finally {
    screen.end();
    undo();
  }
  shell.out(`${page.join("\n")}\n`);
}
