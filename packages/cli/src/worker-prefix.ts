import type { Shell } from "./shell.ts";
import { clipped, padded, widest } from "./text-width.ts";

type Paint = (text: string) => string;

/** Wider names are cut, so that the text beside them keeps its room. */
const MAX_WIDTH = 20;

/** Names in front of lines from several sources: aligned, and each in a colour of its own. */
export class Prefixes {
  readonly #paints: readonly Paint[];
  readonly #painted = new Map<string, Paint>();
  #width: number;

  constructor(paint: Shell["paint"], { names, minWidth = 0 }: { readonly names: readonly string[]; readonly minWidth?: number }) {
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
    for (const name of names) this.#know(name);
  }

  /** `math-worker | `; names that come later and are longer move the bar to the right from then on. `bar` tells kinds of lines apart. */
  of(name: string, bar: string): string {
    const paint = this.#know(name);
    return paint(`${padded(clipped(name, MAX_WIDTH), this.#width)} ${bar} `);
  }

  #know(name: string): Paint {
    let paint = this.#painted.get(name);
    if (paint === undefined) {
      paint = this.#paints[this.#painted.size % this.#paints.length] ?? String;
      this.#painted.set(name, paint);
      this.#width = Math.min(MAX_WIDTH, widest([name], this.#width));
    }
    return paint;
  }
}
