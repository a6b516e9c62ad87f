import { compileGlob } from "@svc-runtime/protocol";

const MATCH = /^match\((?:"([^"]*)"|'([^']*)')\)$/;

/** A list of names and name patterns. */
export class NameList {
  static readonly empty: NameList = new NameList([], []);
  readonly #names: ReadonlySet<string>;
  readonly #patterns: readonly ((name: string) => boolean)[];

  constructor(names: readonly string[], patterns: readonly string[]) {
    this.#names = new Set(names);
    this.#patterns = patterns.map(compileGlob);
  }

  /** Returns `named` if the name itself is on the list, `matched` if only a pattern matches it, or undefined. */
  find(name: string): "named" | "matched" | undefined {
    if (this.#names.has(name)) return "named";
    return this.#patterns.some((matches) => matches(name)) ? "matched" : undefined;
  }
}

/** Returns the pattern of `match("pat")` or `match('pat')`; undefined for other strings. */
export function patternOfMatch(text: string): string | undefined {
  const found = MATCH.exec(text.trim());
  return found === null ? undefined : (found[1] ?? found[2]);
}
