/** Broken invariants of a run. */
export class Violations {
  readonly found: string[] = [];

  /** Adds one. Only the first ones are kept: later ones follow from them. */
  add(invariant: string, what: string): void {
    if (this.found.length < 10) this.found.push(`${invariant}: ${what}`);
  }
}
