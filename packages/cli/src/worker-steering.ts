import type { Worker } from "@svc/sdk";
import { CommandFailure, usageFailure } from "./exit-codes.ts";
import { providedBy } from "./provided-by.ts";
import { say, sayBehind } from "./remarks.ts";
import { doSeveral } from "./several.ts";
import type { Shell } from "./shell.ts";
import { awaitWorker, fullName, listWorkers, type Steering, steerWorker, type WorkerReport, workerStatus } from "./worker-functions.ts";
import { shown, unlessStopped, waitForWorker } from "./worker-wait.ts";

/** A worker gets 10 s to end before it is killed. */
const STOP_TIMEOUT_MS = 30_000;

export interface SteeringRequest {
  readonly steering: Steering;
  readonly names: readonly string[];
  /** All workers that the engine runs as processes. */
  readonly all: boolean;
  /** Until it is ready, or has stopped. */
  readonly wait: boolean;
  readonly json: boolean;
}

/** Starts, stops, restarts or updates workers, one after another. Exit 1 if any of them does not come to be as it should. */
export async function steerWorkers(shell: Shell, engine: Worker, { steering, names, all, wait, json }: SteeringRequest): Promise<void> {
  const chosen = all ? await processNames(engine) : await known(engine, names);
  if (chosen.length === 0) shell.note(`The engine runs no workers of its own; there is nothing to ${steering}.\n`);
  await doSeveral(shell, {
    names: chosen,
    verb: VERBS[steering],
    json,
    action: (name, signal) => ACTIONS[steering](shell, engine, { name, wait, signal }),
  });
}

/** Before anything is asked of the engine. */
export function requireNames(names: readonly string[], all: boolean): void {
  if (all && names.length > 0) throw usageFailure("--all means every worker; leave the names out, or leave out --all.");
  if (!all && names.length === 0) throw usageFailure("Name a worker, or pass --all for every worker that the engine runs.", "See: svc worker list");
}

async function processNames(engine: Worker): Promise<readonly string[]> {
  return (await listWorkers(engine)).filter(({ kind }) => kind === "local" || kind === "command").map(({ name }) => name);
}

/** A name that is mistyped is told before anything is done. */
async function known(engine: Worker, names: readonly string[]): Promise<readonly string[]> {
  const full = [...new Set(names.map(fullName))];
  if (full.length > 1) await Promise.all(full.map((name) => workerStatus(engine, name, { tail: 0 })));
  return full;
}

interface Step {
  readonly name: string;
  readonly wait: boolean;
  readonly signal: AbortSignal;
}

const VERBS: Readonly<Record<Steering, string>> = { start: "be started", stop: "be stopped", restart: "be restarted", update: "be updated" };

const ACTIONS: Readonly<Record<Steering, (shell: Shell, engine: Worker, step: Step) => Promise<WorkerReport>>> = { start, stop, restart, update };

async function start(shell: Shell, engine: Worker, step: Step): Promise<WorkerReport> {
  const { name } = step;
  const before = await workerStatus(engine, name, { tail: 0 });
  const report = await steerWorker(engine, "start", name);
  shell.note(before.state === "ready" ? `Worker ${name} runs already\n` : `Worker ${name} started\n`);
  return await untilReady(shell, engine, { step, report });
}

async function stop(shell: Shell, engine: Worker, { name, wait, signal }: Step): Promise<WorkerReport> {
  const before = await workerStatus(engine, name, { tail: 0 });
  const report = await steerWorker(engine, "stop", name);
  if (before.state === "stopped") {
    shell.note(`Worker ${name} is stopped already\n`);
    return report;
  }
  if (!wait) {
    shell.note(`Worker ${name} is being stopped\n`);
    return report;
  }
  const ending = shown(shell, `Waiting until ${name} has ended`, () => awaitWorker(engine, { name, until: "stopped", timeoutMs: STOP_TIMEOUT_MS, signal }));
  const after = await unlessStopped(ending, signal, () => new CommandFailure(`Stopped waiting; the engine goes on ending ${name}.`));
  if (after.state !== "stopped") {
    throw new CommandFailure(`Worker ${name} has not ended within ${STOP_TIMEOUT_MS / 1000} s; it is ${after.state.replace("_", " ")}.`, {
      advice: [`See how it is: svc worker status ${name}`],
    });
  }
  say(shell, `Worker ${name} stopped. Start it again with: svc worker start ${name}`);
  return after;
}

async function restart(shell: Shell, engine: Worker, step: Step): Promise<WorkerReport> {
  const report = await steerWorker(engine, "restart", step.name);
  shell.note(`Restarting worker ${step.name}\n`);
  return await untilReady(shell, engine, {
    step,
    report,
    onProblem: { what: "restarted", advice: `What the new process wrote: svc worker logs ${step.name}` },
  });
}

async function update(shell: Shell, engine: Worker, step: Step): Promise<WorkerReport> {
  const { name } = step;
  const report = await steerWorker(engine, "update", name);
  shell.note(`Installing the dependencies of ${name} again\n`);
  return await untilReady(shell, engine, {
    step,
    report,
    onProblem: { what: "updated", advice: `What the install said: svc worker logs ${name} --stream install` },
  });
}

interface Outcome {
  readonly step: Step;
  readonly report: WorkerReport;
  /** For the failure of a worker that is ready although its change cannot be used: its former processes continue to run. */
  readonly onProblem?: { readonly what: string; readonly advice: string };
}

async function untilReady(shell: Shell, engine: Worker, { step, report, onProblem }: Outcome): Promise<WorkerReport> {
  const { name, wait, signal } = step;
  if (!wait) return report;
  const adviceIfStopped = [`The engine goes on starting it. See how it is: svc worker status ${name}`];
  const ready = await waitForWorker(shell, engine, { name, signal, adviceIfStopped });
  if (onProblem !== undefined && ready.problem !== null) {
    const { what, advice } = onProblem;
    throw new CommandFailure(`Worker ${name} was not ${what}: ${ready.problem}\nThe former processes continue to run.`, { advice: [advice] });
  }
  sayBehind(shell, shell.paint.green("Ready:"), providedBy(ready));
  return ready;
}
