import { CommandFailure, usageFailure } from "../exit-codes.ts";
import { runForEach } from "../run-for-each.ts";
import type { Shell } from "../shell.ts";
import { say, sayBehind } from "../terminal/notes.ts";
import { providedBy } from "./provided-by.ts";
import { unlessStopped, waitForWorker, withProgress } from "./wait-for-worker.ts";
import {
  awaitWorker,
  controlWorker,
  type EngineCalls,
  fullName,
  listWorkers,
  type WorkerAction,
  type WorkerReport,
  workerStatus,
} from "./worker-functions.ts";

/** Timeout of stopping a worker, in milliseconds. The engine kills a worker after 10 s, so this is long enough. */
const STOP_TIMEOUT_MS = 30_000;

export interface ControlRequest {
  readonly action: WorkerAction;
  readonly names: readonly string[];
  /** True: all workers that have a process of the engine. */
  readonly all: boolean;
  /** True: wait until the worker is ready or has stopped. */
  readonly wait: boolean;
  readonly json: boolean;
}

/** Starts, stops, restarts or updates workers, one after another. Throws (exit 1) if one of them fails. */
export async function controlWorkers(
  shell: Shell,
  engine: EngineCalls,
  { action, names, all, wait, json }: ControlRequest,
): Promise<void> {
  const chosen = all ? await processNames(engine) : await known(engine, names);
  if (chosen.length === 0) shell.note(`The engine runs no workers; there is nothing to ${action}.\n`);
  await runForEach(shell, {
    names: chosen,
    verb: VERBS[action],
    json,
    action: (name, signal) => ACTIONS[action](shell, engine, { name, wait, signal }),
  });
}

/** Throws a usage error if names and `--all` contradict each other. Needs no engine. */
export function requireNames(names: readonly string[], all: boolean): void {
  if (all && names.length > 0) throw usageFailure("--all means all workers; omit the names or omit --all.");
  if (!all && names.length === 0)
    throw usageFailure(
      "Give a worker's name, or pass --all for all workers that the engine runs.",
      "See: svc worker list",
    );
}

async function processNames(engine: EngineCalls): Promise<readonly string[]> {
  return (await listWorkers(engine))
    .filter(({ kind }) => kind === "local" || kind === "command")
    .map(({ name }) => name);
}

/** Returns the full names. Throws for a mistyped name, before anything is changed. */
async function known(engine: EngineCalls, names: readonly string[]): Promise<readonly string[]> {
  const full = [...new Set(names.map(fullName))];
  if (full.length > 1) await Promise.all(full.map((name) => workerStatus(engine, name, { tail: 0 })));
  return full;
}

interface Step {
  readonly name: string;
  readonly wait: boolean;
  readonly signal: AbortSignal;
}

const VERBS: Readonly<Record<WorkerAction, string>> = {
  start: "be started",
  stop: "be stopped",
  restart: "be restarted",
  update: "be updated",
};

const ACTIONS: Readonly<
  Record<WorkerAction, (shell: Shell, engine: EngineCalls, step: Step) => Promise<WorkerReport>>
> = {
  start,
  stop,
  restart,
  update,
};

async function start(shell: Shell, engine: EngineCalls, step: Step): Promise<WorkerReport> {
  const { name } = step;
  const before = await workerStatus(engine, name, { tail: 0 });
  const report = await controlWorker(engine, "start", name);
  shell.note(before.state === "ready" ? `Worker ${name} is already running\n` : `Worker ${name} started\n`);
  return await untilReady(shell, engine, { step, report });
}

async function stop(shell: Shell, engine: EngineCalls, { name, wait, signal }: Step): Promise<WorkerReport> {
  const before = await workerStatus(engine, name, { tail: 0 });
  const report = await controlWorker(engine, "stop", name);
  if (before.state === "stopped") {
    shell.note(`Worker ${name} is already stopped\n`);
    return report;
  }
  if (!wait) {
    shell.note(`Worker ${name} is being stopped\n`);
    return report;
  }
  const ending = withProgress(shell, `Waiting until ${name} has stopped`, () =>
    awaitWorker(engine, { name, until: "stopped", timeoutMs: STOP_TIMEOUT_MS, signal }),
  );
  const after = await unlessStopped(
    ending,
    signal,
    () => new CommandFailure(`Stopped waiting; the engine is still stopping ${name}.`),
  );
  if (after.state !== "stopped") {
    throw new CommandFailure(
      `Worker ${name} did not stop within ${STOP_TIMEOUT_MS / 1000} s; it is ${after.state.replace("_", " ")}.`,
      {
        advice: [`Show its state: svc worker status ${name}`],
      },
    );
  }
  say(shell, `Worker ${name} stopped. Start it again with: svc worker start ${name}`);
  return after;
}

async function restart(shell: Shell, engine: EngineCalls, step: Step): Promise<WorkerReport> {
  const report = await controlWorker(engine, "restart", step.name);
  shell.note(`Restarting worker ${step.name}\n`);
  return await untilReady(shell, engine, {
    step,
    report,
    onProblem: { what: "restarted", advice: `Output of the new process: svc worker logs ${step.name}` },
  });
}

async function update(shell: Shell, engine: EngineCalls, step: Step): Promise<WorkerReport> {
  const { name } = step;
  const report = await controlWorker(engine, "update", name);
  shell.note(`Installing the dependencies of ${name} again\n`);
  return await untilReady(shell, engine, {
    step,
    report,
    onProblem: { what: "updated", advice: `Output of the install: svc worker logs ${name} --stream install` },
  });
}

interface Outcome {
  readonly step: Step;
  readonly report: WorkerReport;
  /** Texts for the error if the worker is ready, but the change failed. The previous processes then keep running. */
  readonly onProblem?: { readonly what: string; readonly advice: string };
}

async function untilReady(
  shell: Shell,
  engine: EngineCalls,
  { step, report, onProblem }: Outcome,
): Promise<WorkerReport> {
  const { name, wait, signal } = step;
  if (!wait) return report;
  const adviceIfStopped = [`The engine keeps starting it. Show its state: svc worker status ${name}`];
  const ready = await waitForWorker(shell, engine, { name, signal, adviceIfStopped });
  if (onProblem !== undefined && ready.problem !== null) {
    const { what, advice } = onProblem;
    throw new CommandFailure(`Worker ${name} was not ${what}: ${ready.problem}\nThe previous processes keep running.`, {
      advice: [advice],
    });
  }
  sayBehind(shell, shell.paint.green("Ready:"), providedBy(ready));
  return ready;
}
