import type { Shell } from "./shell.ts";
import { clipped, padded, widest } from "./text-width.ts";

type Paint = (text: string) => string;

/** Longer names are truncated, to leave space for the text. */
const MAX_WIDTH = 20;

/** Prefixes for lines of several sources: aligned names, each in its own colour. */
export class Prefixes {
  readonly #paints: readonly Paint[];
  readonly #painted = new Map<string, Paint>();
  #width: number;

  constructor(
    paint: Shell["paint"],
    { names, minWidth = 0 }: { readonly names: readonly string[]; readonly minWidth?: number },
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
    this.#width = minWidth;
    for (const name of names) this.#register(name);
  }

  /**
   * Returns a prefix such as `math-worker | `. A longer name that is added later widens all following prefixes. `bar`
   * distinguishes kinds of lines.
   */
  of(name: string, bar: string): string {
    const paint = this.#register(name);
    return paint(`${padded(clipped(name, MAX_WIDTH), this.#width)} ${bar} `);
  }

  #register(name: string): Paint {
    let paint = this.#painted.get(name);
    if (paint === undefined) {
      paint = this.#paints[this.#painted.size % this.#paints.length] ?? String;
      this.#painted.set(name, paint);
      this.#width = Math.min(MAX_WIDTH, widest([name], this.#width));
    }
    return paint;
  }
}
