import { expect, it } from "vitest";
import { REGRESSION_SEEDS } from "./regression-seeds.ts";
import { runSeeds, violationsOf } from "./run-seeds.ts";

/** `npm run faults -- simulation` runs 10,000. */
const SEEDS = 60;

it(`engines on one log keep every invariant in ${SEEDS} seeds, and a seed always runs the same way`, async () => {
  const repeated = [3, 40];
  const results = await runSeeds([`1-${SEEDS}`, ...REGRESSION_SEEDS, ...repeated].join(","));
  expect(violationsOf(results)).toEqual([]);
  expect(results).toHaveLength(SEEDS + REGRESSION_SEEDS.length + repeated.length);
  for (const seed of repeated)
    expect(new Set(results.filter((result) => result.seed === seed).map(({ digest }) => digest)).size).toBe(1);
  // The seeds do what they are made for.
  const sum = (name: string): number => results.reduce((total, { counts }) => total + (counts[name] ?? 0), 0);
  for (const name of ["done", "dead", "ticks", "operations", "lives", "remote", "deliveries"])
    expect(sum(name)).toBeGreaterThan(20);
}, 240_000);
