import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { controlGlobals } from "./controlled-globals.ts";

// Runs seeds and prints one line of JSON for each: `node main.js --seeds 1-200,7`. Exits with 1 if an invariant is broken.
const { values } = parseArgs({
  options: {
    seeds: { type: "string", default: "1" },
    /** Ends after the first seed that broke an invariant. */
    "until-found": { type: "boolean", default: false },
    /** Prints each event of the simulation to stderr. */
    trace: { type: "boolean", default: false },
    /** Prints the operations on state items. */
    history: { type: "boolean", default: false },
  },
});

const folder = mkdtempSync(join(tmpdir(), "svc-simulation-"));
controlGlobals();
// Loaded now, so that the modules of the engine import what is controlled.
const { runSeed } = await import("./run-seed.ts");
const onLine = values.trace ? (line: string) => void process.stderr.write(`${line}\n`) : undefined;
try {
  // Loads the modules of the engine: reading files takes turns of the event loop that are no part of a simulation.
  await runSeed(0, { folder });
  for (const seed of seedsOf(values.seeds)) {
    const before = process.cpuUsage();
    const { operations, ...result } = await runSeed(seed, { folder, ...(onLine === undefined ? {} : { onLine }) });
    const { user, system } = process.cpuUsage(before);
    const cpuMs = Math.round((user + system) / 1_000);
    process.stdout.write(`${JSON.stringify({ ...result, cpuMs, ...(values.history ? { operations } : {}) })}\n`);
    if (result.violations.length === 0) continue;
    process.exitCode = 1;
    if (values["until-found"]) break;
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}

/** Returns the seeds of a list of numbers and ranges. */
function seedsOf(list: string): number[] {
  return list.split(",").flatMap((part) => {
    const [first = Number.NaN, last = first] = part.split("-").map(Number);
    if (!Number.isInteger(first) || !Number.isInteger(last))
      throw new RangeError(`${part} is neither a seed nor a range`);
    return Array.from({ length: last - first + 1 }, (_, index) => first + index);
  });
}
