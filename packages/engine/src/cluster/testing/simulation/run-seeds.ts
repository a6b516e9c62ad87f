import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { plant } from "./planted-faults.ts";
import type { SeedResult } from "./run-seed.ts";

export type PrintedResult = Omit<SeedResult, "operations"> & Partial<Pick<SeedResult, "operations">>;

interface SeedsOptions {
  readonly withHistory?: boolean;
  readonly onResult?: (result: PrintedResult) => void;
}

/**
 * Runs seeds, e.g. `1-200,7`, in a process of their own, which the simulation controls. Rejects if it did not end by
 * itself.
 */
export function runSeeds(
  seeds: string,
  { withHistory = false, onResult = () => {} }: SeedsOptions = {},
): Promise<readonly PrintedResult[]> {
  const main = new URL("./main.js", import.meta.url).pathname;
  return runProgram([main, "--seeds", seeds, ...(withHistory ? ["--history"] : [])], onResult);
}

/** Runs seeds on an engine with a planted fault, until one finds it. */
export async function runSeedsWithFault(seeds: string, fault: string): Promise<readonly PrintedResult[]> {
  const { main, remove } = plant(fault);
  try {
    return await runProgram([main, "--seeds", seeds, "--until-found"]);
  } finally {
    remove();
  }
}

async function runProgram(
  args: readonly string[],
  onResult: (result: PrintedResult) => void = () => {},
): Promise<readonly PrintedResult[]> {
  const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
  const ended = new Promise<number | null>((resolve, reject) => {
    child.on("error", reject);
    child.on("close", resolve);
  });
  const results: PrintedResult[] = [];
  for await (const line of createInterface({ input: child.stdout })) {
    // The program prints nothing else.
    const result = JSON.parse(line) as PrintedResult;
    onResult(result);
    results.push(result);
  }
  const code = await ended;
  if (code !== 0 && code !== 1) throw new Error(`the simulation ${args.slice(1).join(" ")} ended with code ${code}`);
  return results;
}

/** Returns the broken invariants of all seeds, each with the command that repeats its seed. */
export function violationsOf(results: readonly PrintedResult[]): readonly string[] {
  return results.flatMap(({ seed, violations }) =>
    violations.map((what) => `seed ${seed}: ${what}; repeat: node ${MAIN} --seeds ${seed} --trace`),
  );
}

const MAIN = "packages/engine/dist/cluster/testing/simulation/main.js";
