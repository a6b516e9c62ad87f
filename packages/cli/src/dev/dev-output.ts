import { parseLogLine, textLine, timeOfDay } from "../log-lines.ts";
import type { Shell } from "../shell.ts";
import { fitForTerminal, outPaint } from "../terminal-text.ts";
import type { WorkerLine } from "../worker-logs.ts";
import { Prefixes } from "../worker-prefix.ts";

/** Bars behind the name: what a process wrote to its standard error has another one. */
const BAR = "|";
const ERROR_BAR = "!";

/** Everything that runs, on one terminal: each line below the name of who wrote it. */
export class DevOutput {
  readonly #shell: Shell;
  readonly #paint: Shell["paint"];
  readonly #prefixes: Prefixes;

  constructor(shell: Shell, names: readonly string[]) {
    this.#shell = shell;
    this.#paint = outPaint(shell);
    this.#prefixes = new Prefixes(this.#paint, { names: ["engine", "console", ...names] });
  }

  /** A line of the engine's log or of the console. */
  own(name: "engine" | "console", line: string): void {
    const record = parseLogLine(line);
    const text = record === undefined ? this.#fit(line) : textLine(record, this.#paint);
    for (const part of text.split("\n")) this.#write(name, BAR, part);
  }

  worker({ worker, time, stream, replica, text }: WorkerLine): void {
    const name = replica === null ? worker : `${worker}#${replica}`;
    const fit = this.#fit(text);
    const said = stream === "svc" || stream === "install" ? this.#paint.dim(fit) : fit;
    this.#write(name, stream === "err" ? ERROR_BAR : BAR, `${this.#paint.dim(timeOfDay(Date.parse(time)))} ${said}`);
  }

  emptyLine(): void {
    this.#shell.out("\n");
  }

  #write(name: string, bar: string, text: string): void {
    this.#shell.out(`${this.#prefixes.of(name, bar)}${text}\n`);
  }

  #fit(text: string): string {
    return fitForTerminal(text, { colours: this.#paint.isColorSupported });
  }
}
