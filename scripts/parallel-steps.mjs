// Runs steps that depend on each other, several at a time, and reports all failures. Plain Node without dependencies:
// it runs before `npm install`.
import { StepFailure, startCommand } from "./steps.mjs";

const STEP_TIMEOUT_MS = 600_000;

/**
 * @typedef {{ write: (text: string) => void, signal: AbortSignal }} StepContext
 * @typedef {{ title: string, needs?: readonly string[], run: (context: StepContext) => Promise<void> }} Step A step;
 *   `needs` holds the titles of steps that must pass first. `write` adds to the output. A step fails by rejecting.
 * @typedef {{ title: string, state: "passed" | "failed" | "skipped", ms: number, reason?: string }} StepResult
 */

/**
 * Starts the steps in order, at most `limit` at a time. Prints the output of each when it ends. Skips a step if one
 * that it needs failed, and runs all others. Resolves with a result for each step, in order. On abort, waits for the
 * running steps and rejects with the signal's reason.
 *
 * @param {readonly Step[]} steps
 * @param {{ limit: number, signal: AbortSignal, stream?: { write: (text: string) => unknown } }} options
 * @returns {Promise<StepResult[]>}
 */
export async function runParallel(steps, { limit, signal, stream = process.stderr }) {
  const results = new Map();
  const running = new Map();
  const state = (title) => results.get(title)?.state;
  const start = (step) => {
    stream.write(`-- ${step.title} …\n`);
    running.set(
      step.title,
      runStep(step, { signal, stream }).then((result) => {
        running.delete(step.title);
        results.set(step.title, result);
      }),
    );
  };
  while (results.size < steps.length) {
    for (const step of steps) {
      if (results.has(step.title) || running.has(step.title)) continue;
      const needs = step.needs ?? [];
      const missing = needs.find((title) => state(title) === "failed" || state(title) === "skipped");
      if (missing !== undefined)
        results.set(step.title, { title: step.title, state: "skipped", ms: 0, reason: `needs ${missing}` });
      else if (running.size < limit && !signal.aborted && needs.every((title) => state(title) === "passed"))
        start(step);
    }
    if (running.size > 0) await Promise.race(running.values());
    else signal.throwIfAborted();
  }
  signal.throwIfAborted();
  return steps.map(({ title }) => results.get(title));
}

async function runStep({ title, run }, { signal, stream }) {
  const startedMs = performance.now();
  const output = [];
  const write = (text) => void output.push(text);
  let state = "passed";
  try {
    await run({ write, signal });
  } catch (error) {
    state = "failed";
    write(failureText(error));
  }
  const ms = performance.now() - startedMs;
  if (!signal.aborted)
    stream.write(
      `${endWithNewline(output.join(""))}${state === "passed" ? "ok" : "FAILED"} ${title}, ${seconds(ms)}\n`,
    );
  return { title, state, ms };
}

function failureText(error) {
  if (!(error instanceof StepFailure)) return `${error.stack ?? error}\n`;
  const last = error.output.map((line) => `${line}\n`).join("");
  return `${last}${error.message}\n${error.fix === undefined ? "" : `How to fix it: ${error.fix}\n`}`;
}

function endWithNewline(text) {
  return text === "" || text.endsWith("\n") ? text : `${text}\n`;
}

/** Formats a duration: "12.3 s". */
export function seconds(ms) {
  return `${(ms / 1000).toFixed(1)} s`;
}

/**
 * Returns the lines of a table with the state and the duration of each step.
 * @param {readonly StepResult[]} results
 */
export function stepTable(results) {
  const width = Math.max(...results.map(({ title }) => title.length));
  const states = { passed: "ok", failed: "FAILED", skipped: "skipped" };
  return results.map(({ title, state, ms, reason }) => {
    const what = state === "skipped" ? `       -  skipped: ${reason}` : `${seconds(ms).padStart(8)}  ${states[state]}`;
    return `  ${title.padEnd(width)}  ${what}`;
  });
}

/**
 * Returns the action of a step that runs a command to its end, and fails unless its exit status is 0.
 * @param {string} command
 * @param {readonly string[]} args
 * @param {{ cwd: string, timeoutMs?: number }} options
 */
export function commandStep(command, args, { cwd, timeoutMs = STEP_TIMEOUT_MS }) {
  return async ({ write, signal }) => {
    const child = startCommand(command, args, { cwd });
    for (const output of [child.process.stdout, child.process.stderr]) output.on("data", write);
    // Not AbortSignal.any: in Node 20 the garbage collector removes a time limit that only the combined signal refers
    // to.
    const deadline = AbortSignal.timeout(timeoutMs);
    const stop = () => void child.stop();
    for (const limit of [signal, deadline]) limit.addEventListener("abort", stop);
    if (signal.aborted) stop();
    const { code, error } = await child.ended;
    for (const limit of [signal, deadline]) limit.removeEventListener("abort", stop);
    signal.throwIfAborted();
    const shown = [command.split("/").at(-1), ...args].join(" ");
    if (error !== undefined) throw new StepFailure(`\`${shown}\` could not be started: ${error.message}`);
    if (deadline.aborted) throw new StepFailure(`\`${shown}\` timed out after ${timeoutMs / 1000} s`);
    if (code !== 0) throw new StepFailure(`\`${shown}\` ended with status ${code}`);
  };
}
