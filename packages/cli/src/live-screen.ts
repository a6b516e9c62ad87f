import type { Shell } from "./shell.ts";

const ESCAPE = "\u001b";
/** Switches to the alternate screen, so that the previous content comes back later, and turns off line wrapping. */
const ENTER = `${ESCAPE}[?1049h${ESCAPE}[?25l${ESCAPE}[?7l`;
const LEAVE = `${ESCAPE}[?7h${ESCAPE}[?25h${ESCAPE}[?1049l`;
const HOME = `${ESCAPE}[H`;
const TO_LINE_END = `${ESCAPE}[K`;
const TO_SCREEN_END = `${ESCAPE}[J`;
/** Used if the number of rows is unknown. */
const DEFAULT_ROWS = 24;

/** A terminal screen that shows one changing page. `end` restores the terminal. */
export class LiveScreen {
  readonly #shell: Pick<Shell, "out" | "outRows">;

  constructor(shell: Pick<Shell, "out" | "outRows">) {
    this.#shell = shell;
    shell.out(ENTER);
  }

  /** Shows the lines that fit, with the footerer below them. */
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
