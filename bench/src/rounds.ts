import type { Window } from "./generator/load.ts";

/** One side of a comparison: runs its load once and returns the window. */
export type Variant = () => Promise<Window>;

/**
 * Runs all variants one after another, `rounds` times, so that a slow phase of the machine affects all of them.
 * Discards a first round, in which the servers compile their hot paths.
 */
export async function interleave<Name extends string>(
  variants: Readonly<Record<Name, Variant>>,
  rounds: number,
): Promise<Record<Name, Window[]>> {
  const names = Object.keys(variants) as Name[];
  const windows = Object.fromEntries(names.map((name) => [name, [] as Window[]])) as Record<Name, Window[]>;
  for (const name of names) await variants[name]();
  for (let round = 0; round < rounds; round++) {
    for (const name of names) windows[name].push(await variants[name]());
  }
  return windows;
}
