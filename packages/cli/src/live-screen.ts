import type { Shell } from "./shell.ts";

const ESCAPE = "\u001b";
/** The terminal's other screen, so that what was there before comes back; lines that are too long end at its edge. */
const ENTER = `${ESCAPE}[?1049h${ESCAPE}[?25l${ESCAPE}[?7l`;
const LEAVE = `${ESCAPE}[?7h${ESCAPE}[?25h${ESCAPE}[?1049l`;
const HOME = `${ESCAPE}[H`;
const TO_LINE_END = `${ESCAPE}[K`;
const TO_SCREEN_END = `${ESCAPE}[J`;
/** Where the terminal does not tell. */
const USUAL_ROWS = 24;

/** A terminal's screen that shows one page, which changes. `end` gives the terminal back as it was. */
export class LiveScreen {
  readonly #shell: Pick<Shell, "out" | "outRows">;

  constructor(shell: Pick<Shell, "out" | "outRows">) {
    this.#shell = shell;
    shell.out(ENTER);
  }

  /** The lines that fit, and the foot below them. */
  show(lines: readonly string[], foot: string): void {
    const room = Math.max(1, (this.#shell.outRows() ?? USUAL_ROWS) - 2);
    const shown = lines.length <= room ? lines : [...lines.slice(0, room - 1), "…"];
    this.#shell.out(`${HOME}${[...shown, "", foot].map((line) => `${line}${TO_LINE_END}`).join("\r\n")}${TO_SCREEN_END}`);
  }

  end(): void {
    this.#shell.out(LEAVE);
  }
}
