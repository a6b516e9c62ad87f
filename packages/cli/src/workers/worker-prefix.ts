import type { Shell } from "../shell.ts";
import { clipped, padded, widest } from "../terminal/text-width.ts";

type Paint = (text: string) => string;

/** Maximum width of a name, in columns. Longer names are truncated, to leave space for the text. */
const MAX_WIDTH = 20;

/** Matches the number of a process after its worker's name. */
const REPLICA = /#\d+$/;

/**
 * Prefixes for the lines of several sources. The names are aligned. Each worker has its own colour for all its
 * processes.
 */
export class Prefixes {
  readonly #paints: readonly Paint[];
  readonly #painted = new Map<string, Paint>();
  #workers = 0;
  #width: number;

  constructor(
    paint: Shell["paint"],
    {
      names,
      others = [],
    }: {
      readonly names: readonly string[];
      /** Names of the other sources. */
      readonly others?: readonly string[];
    },
  ) {
    this.#paints = [
      paint.cyan,
      paint.yellow,
      paint.green,
      paint.magenta,
      paint.blue,
      paint.cyanBright,
      paint.yellowBright,
      paint.greenBright,
      paint.magentaBright,
    ];
    this.#width = widest([...names, ...others].map((name) => clipped(name, MAX_WIDTH)));
    for (const name of others) this.#painted.set(name, paint.gray);
    // Register the names in sorted order, so that a worker has the same colour in all commands.
    for (const name of [...names].sort()) this.#register(name);
  }

  /**
   * Returns a prefix such as `math-worker | `. If a longer name is added later, all following prefixes are wider. `bar`
   * distinguishes kinds of lines.
   */
  of(name: string, bar: string): string {
    const paint = this.#register(name);
    return paint(`${padded(clipped(name, MAX_WIDTH), this.#width)} ${bar} `);
  }

  #register(name: string): Paint {
    this.#width = Math.min(MAX_WIDTH, widest([name], this.#width));
    const worker = name.replace(REPLICA, "");
    let paint = this.#painted.get(worker);
    if (paint === undefined) {
      paint = this.#paints[this.#workers++ % this.#paints.length] ?? String;
      this.#painted.set(worker, paint);
    }
    return paint;
  }
}
