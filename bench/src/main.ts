// Runs the scenarios one after another, prints their tables and writes the results. Every value is a ratio to a
// baseline that was measured in the same run.
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Comparison, renderCompared } from "./comparison.ts";
import { type Options, parseOptions, USAGE, UsageError } from "./options.ts";
import { Generator } from "./processes.ts";
import { allBindingHold, type Outcome, resultsDocument } from "./report.ts";
import { scenarios } from "./scenarios/index.ts";
import type { Scenario } from "./scenarios/scenario.ts";
import { renderBars, renderMeasurements } from "./table.ts";

const BINDING_ROWS: ReadonlySet<number> = new Set([1, 2, 3, 4, 11, 16, 26, 27, 29, 30, 31]);
/** `svc` in a checkout. */
const CLI = "packages/cli/bin/svc.js";
const RESULTS_FOLDER = fileURLToPath(new URL("../results", import.meta.url));
/** Folder for data. On the disk of the repository, because the folder for temporary files may be in memory. */
const WORK_FOLDER = fileURLToPath(new URL(`../../.cache/bench/run-${process.pid}`, import.meta.url));
/** Time limit for the whole bench, so that it ends even if a scenario hangs. */
const TOTAL_TIMEOUT_MS = 30 * 60_000;

async function runScenario(scenario: Scenario, index: number, options: Options): Promise<Outcome> {
  const folder = join(WORK_FOLDER, String(index));
  mkdirSync(folder, { recursive: true });
  const { title, rows } = scenario;
  const comparison = options.against === undefined ? undefined : new Comparison(join(options.against, CLI));
  let generator: Generator | undefined;
  try {
    generator = await Generator.start();
    const { bars, measurements, notes } = await scenario.run({
      options,
      generator: comparison?.generator(generator) ?? generator,
      comparison,
      folder,
      resultsFolder: RESULTS_FOLDER,
    });
    const compared = comparison?.results() ?? [];
    return { title, rows, bars, measurements, notes: notes ?? [], compared, failure: undefined };
  } catch (error) {
    const failure = (error as Error).message;
    return { title, rows, bars: [], measurements: [], notes: [], compared: [], failure };
  } finally {
    await generator?.stop();
  }
}

function show({ bars, measurements, notes, compared, failure }: Outcome): void {
  if (failure !== undefined) console.log(`NOT MEASURED: ${failure}`);
  if (measurements.length > 0) console.log(renderMeasurements(measurements));
  for (const note of notes) console.log(note);
  if (bars.length > 0) console.log(`\n${renderBars(bars)}`);
  if (compared.length > 0) console.log(`\n${renderCompared(compared)}`);
}

async function runAll(options: Options): Promise<number> {
  const startedAt = new Date();
  mkdirSync(RESULTS_FOLDER, { recursive: true });
  const outcomes: Outcome[] = [];
  for (const [index, scenario] of scenarios.entries()) {
    if (!scenario.rows.some((row) => options.rows.has(row))) continue;
    console.log(`\n## ${scenario.title} (row ${scenario.rows.join(", ")})\n`);
    const outcome = await runScenario(scenario, index, options);
    show(outcome);
    outcomes.push(outcome);
  }
  const file = join(RESULTS_FOLDER, `${startedAt.toISOString().replaceAll(":", "-")}.json`);
  writeFileSync(file, `${JSON.stringify(resultsDocument(outcomes, options, startedAt), null, 2)}\n`);

  console.log("\n## All bars\n");
  console.log(renderBars(outcomes.flatMap((outcome) => outcome.bars)));
  for (const { rows, failure } of outcomes)
    if (failure !== undefined) console.log(`row ${rows.join(", ")}: NOT MEASURED: ${failure.split("\n", 1)[0]}`);
  const held = allBindingHold(outcomes, BINDING_ROWS);
  console.log(
    `\n${held ? "All binding bars that were measured hold." : "Some binding bars do NOT hold or were not measured."}`,
  );
  if (options.quick) console.log("This was a quick run: it shows that the bench works; its values are not meaningful.");
  if (options.engine === "naive")
    console.log(
      "The baseline replaced the engine: ratios to it should be near 1, and their distance from 1 is this machine's noise.",
    );
  console.log(`Took ${Math.round((Date.now() - startedAt.getTime()) / 1000)} s; written to ${file}`);
  return options.strict && !held ? 1 : 0;
}

function readOptions(): Options {
  try {
    const options = parseOptions(process.argv.slice(2));
    if (options !== undefined) return options;
    console.log(USAGE);
    process.exit(0);
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    console.error(`${error.message}\n\n${USAGE}`);
    process.exit(2);
  }
}

const options = readOptions();
process.on("exit", () => rmSync(WORK_FOLDER, { recursive: true, force: true }));
for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => process.exit(130));
setTimeout(() => {
  console.error(`The bench did not end within ${TOTAL_TIMEOUT_MS / 60_000} minutes and was stopped.`);
  process.exit(1);
}, TOTAL_TIMEOUT_MS).unref();
process.exit(await runAll(options));
