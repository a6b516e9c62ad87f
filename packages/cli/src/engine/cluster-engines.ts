import { basename, dirname } from "node:path";
import type { Worker } from "@svc-runtime/sdk";
import type { EngineOptions } from "../commands/options.ts";
import { pathOf } from "../commands/unknown-command.ts";
import { CommandFailure } from "../exit-codes.ts";
import type { Shell } from "../shell.ts";
import { sayNote } from "../terminal/notes.ts";
import {
  type EngineCalls,
  listWorkers,
  type WorkerReport,
  type WorkerState,
  workerStatus,
} from "../workers/worker-functions.ts";
import { type AnnouncedEngine, announcedEngines } from "./announced-engine.ts";
import { announcedAddress, type EngineAddress, probe, projectConfigFile } from "./engine-address.ts";
import { askEngine, type EngineRequest } from "./engine-request.ts";
import { withEngines } from "./engine-session.ts";

/** Timeout for the answer of each engine whether it runs a worker, in milliseconds. */
const SEARCH_TIMEOUT_MS = 5_000;
/** Functions that only read facts about a worker. The other functions change the worker. */
const READS: ReadonlySet<string> = new Set(["worker::status", "worker::logs", "worker::inspect"]);

/** Like `askEngine`, but a call about a worker goes to those engines of `svc dev --cluster` that run the worker. */
export function askAllEngines<Result>(
  shell: Shell,
  request: EngineRequest,
  action: (engines: EngineCalls) => Promise<Result>,
): Promise<Result> {
  const { options, command } = request;
  return askEngine(shell, request, (engine, reached) =>
    withAllEngines(shell, engine, { options, reached, commandName: pathOf(command), action }),
  );
}

export interface WithAllEngines<Result> {
  readonly options: EngineOptions;
  /** Address of the engine. */
  readonly reached: EngineAddress;
  readonly commandName: string;
  readonly action: (engines: EngineCalls) => Promise<Result>;
}

/**
 * Runs the action with connections to all engines of the `svc dev --cluster` to which the given engine belongs. Prints a
 * note for each that listens but does not respond.
 */
export async function withAllEngines<Result>(
  shell: Shell,
  engine: Worker,
  { options, reached, commandName, action }: WithAllEngines<Result>,
): Promise<Result> {
  const announced =
    reached.from === "announced" ? announcedEngines(shell, projectConfigFile(shell, options.config)) : [];
  const others = announced.filter((other) => other.url !== reached.url);
  const responding = (await Promise.all(others.map((other) => responds(shell, other)))).flat();
  return withEngines(responding, commandName, (further) =>
    action(further.length === 0 ? engine : callsTo([engine, ...further])),
  );
}

/** Returns the engine's address. Returns nothing if it does not listen, or, after a note, if it gives no proof. */
async function responds(shell: Shell, engine: AnnouncedEngine): Promise<readonly EngineAddress[]> {
  const address = announcedAddress(engine);
  if ((await probe(address)) !== undefined) return [];
  try {
    await address.prove?.();
    return [address];
  } catch (error) {
    if (!(error instanceof CommandFailure)) throw error;
    const node = basename(dirname(engine.dataDir));
    sayNote(shell, `the workers of ${node} are left out: ${error.message}`);
    return [];
  }
}

/**
 * Returns an object for calls. A call about a worker goes to the engines that run the worker. All other calls go to the
 * first engine.
 */
export function callsTo(engines: readonly [EngineCalls, ...EngineCalls[]]): EngineCalls {
  const [first] = engines;
  const route: EngineCalls["call"] = async (request) => {
    const functionId: string = request.function_id ?? request.functionId ?? "";
    if (functionId === "worker::list") {
      const { include_remote = false } = (request.payload ?? {}) as { readonly include_remote?: boolean };
      return { workers: await allWorkers(engines, { includeRemote: include_remote }) } as never;
    }
    const about = functionId.startsWith("worker::") ? aboutWorker(request.payload) : undefined;
    if (about === undefined) return first.call(request);
    const [holder, ...others] = await holdersOf(engines, about.name);
    if (holder === undefined)
      // The worker may have been added just now. Wait at all engines, because any of them may start it.
      return functionId === "worker::wait"
        ? firstAnswer(engines.map((engine) => engine.call(request)))
        : first.call(request);
    if (READS.has(functionId)) return holder.call(request);
    const reports = await Promise.all([holder, ...others].map((engine) => engine.call<WorkerReport>(request)));
    return (reports.find(({ state }) => state !== about.goal) ?? reports[0]) as never;
  };
  return { call: route };
}

/** Returns the worker that a call is about, and the state that the worker should have after the call. */
function aboutWorker(payload: unknown): { readonly name: string; readonly goal: WorkerState } | undefined {
  const { name, until } = (payload ?? {}) as { readonly name?: string; readonly until?: string };
  return name === undefined ? undefined : { name, goal: until === "stopped" ? "stopped" : "ready" };
}

async function holdersOf(engines: readonly EngineCalls[], name: string): Promise<readonly EngineCalls[]> {
  const has = await Promise.all(
    engines.map((engine) =>
      workerStatus(engine, name, { tail: 0, timeoutMs: SEARCH_TIMEOUT_MS }).then(
        () => true,
        () => false,
      ),
    ),
  );
  return engines.filter((_, index) => has[index]);
}

/** Returns the first answer, or throws the error of the first engine if all fail. */
async function firstAnswer<Answer>(answers: readonly Promise<Answer>[]): Promise<Answer> {
  try {
    return await Promise.any(answers);
  } catch (error) {
    throw error instanceof AggregateError ? error.errors[0] : error;
  }
}

/** Returns the workers of all engines, and the other entries of the first engine. Each name is listed once. */
async function allWorkers(
  engines: readonly EngineCalls[],
  options: { readonly includeRemote: boolean },
): Promise<readonly WorkerReport[]> {
  const lists = await Promise.all(engines.map((engine) => listWorkers(engine, options)));
  const run = lists.flat().filter(({ kind }) => kind === "local" || kind === "command");
  const nodesOf = (name: string): string | undefined =>
    run.flatMap((worker) => (worker.name === name ? (worker.node ?? []) : [])).join(", ") || undefined;
  const byName = new Map(
    [...(lists[0] ?? []), ...run.toReversed()].map((worker) => [
      worker.name,
      { ...worker, node: nodesOf(worker.name) },
    ]),
  );
  return [...byName.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
}
