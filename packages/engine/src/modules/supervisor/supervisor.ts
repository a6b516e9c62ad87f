import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { CallError } from "@svc/protocol";
import type { LocalWorkerEntry } from "../../config/types.ts";
import type { ModuleContext } from "../../kernel/module.ts";
import type { WorkerClaims } from "../../kernel/worker-claims.ts";
import type { AddressFacts } from "./address-variables.ts";
import { Connections } from "./connections.ts";
import { LocalWorker, STOP_GRACE_MS } from "./local-worker.ts";
import { RunRecords } from "./run-records.ts";
import { type ModuleStanding, statusOfLocal, statusOfModule, type WorkerStatus } from "./status.ts";
import type { WorkerState } from "./worker-state.ts";

/** The engine cuts a module off that takes 10 s to stop, so its workers get a little less then. */
const ENGINE_STOP_GRACE_MS = 9_000;
/** How long a name is waited for that is in no config yet: its file may have been edited just now. */
const UNKNOWN_NAME_WAIT_MS = 5_000;
/** The states of modules come without notice. */
const LOOK_EVERY_MS = 100;
const MAX_WAITS = 1_000;

export interface SupervisorDeps extends AddressFacts {
  /** Absolute path of the folder that the config file is in. */
  readonly projectDir: string;
  /** Absolute path of the folder for `<name>.log`. */
  readonly logsDir: string;
  /** Absolute path of the folder in which running process groups are noted, e.g. `/project/.svc/run`. */
  readonly runDir: string;
  readonly claims: WorkerClaims;
  /** The modules of the config file. */
  readonly moduleStates: () => readonly ModuleStanding[];
}

export interface WaitOptions {
  readonly timeoutMs: number;
  readonly until: readonly WorkerState[];
  readonly signal: AbortSignal;
}

export interface SupervisorConfig {
  readonly workers: readonly LocalWorkerEntry[];
}

/** Runs the local workers of the config file and answers for them. */
export class Supervisor {
  readonly #context: ModuleContext<SupervisorConfig>;
  readonly #deps: SupervisorDeps;
  readonly #workers = new Map<string, LocalWorker>();
  /** Workers that left the config and are still ending, by name. */
  readonly #leaving = new Map<string, Promise<void>>();
  readonly #leavingWorkers = new Set<LocalWorker>();
  readonly #records: RunRecords;
  readonly #connections: Connections;
  readonly #cleared: Promise<void>;
  /** Asked again whenever a worker's standing changes. */
  readonly #waits = new Set<() => void>();
  #stopped = false;

  constructor(context: ModuleContext<SupervisorConfig>, deps: SupervisorDeps) {
    this.#context = context;
    this.#deps = deps;
    this.#records = new RunRecords(join(deps.runDir, "workers"));
    this.#connections = new Connections({
      directory: context.directory,
      claims: deps.claims,
      clock: context.clock,
      candidates: () => [...this.#workers.values()].flatMap((worker) => worker.candidates),
      onError: (error) => context.log.error("the owner of a connection could not be found out", { error }),
    });
    this.#cleared = this.#endLeftovers();
    context.signal.addEventListener("abort", () => this.#killAll(), { once: true });
  }

  /** Makes exactly these workers run: new ones start, those that are gone stop, changed ones start anew. Does not wait for them. */
  apply(config: SupervisorConfig): void {
    const wanted = new Map(config.workers.map((entry) => [entry.name, entry]));
    for (const [name, worker] of this.#workers) {
      const entry = wanted.get(name);
      if (entry === undefined) this.#remove(worker, "gone");
      else if (!isSameWork(worker.entry, entry)) this.#remove(worker, "changed");
    }
    for (const entry of config.workers) if (!this.#workers.has(entry.name)) this.#add(entry);
    this.#notify();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    const ending = [...this.#workers.values()].map((worker) => worker.stop({ graceMs: ENGINE_STOP_GRACE_MS }));
    await Promise.all([...ending, ...this.#leaving.values()]);
    this.#connections.stop();
    this.#notify();
  }

  /** Configured workers that are not ready for the first time yet, as a sentence for the readiness report. */
  readinessProblem(): string | undefined {
    const awaited = [...this.#workers.values()].filter((worker) => worker.isAwaited).map((worker) => `${worker.entry.name} (${worker.standing.state})`);
    return awaited.length === 0 ? undefined : `workers are not ready yet: ${awaited.join(", ")}`;
  }

  async list(): Promise<WorkerStatus[]> {
    const local = await Promise.all([...this.#workers.values()].map((worker) => statusOfLocal(worker, this.#connections)));
    const modules = this.#deps.moduleStates().map((module) => statusOfModule(module, this.#context.directory));
    return [...local, ...modules].sort((a, b) => (a.name < b.name ? -1 : 1));
  }

  /** Throws `worker_not_found`. */
  async status(name: string): Promise<WorkerStatus> {
    const found = this.#find(name);
    if (found === undefined) throw this.#notFound(name);
    return found instanceof LocalWorker ? statusOfLocal(found, this.#connections) : statusOfModule(found, this.#context.directory);
  }

  /** Throws `worker_not_found`; `invalid_input` for a module. */
  async restart(name: string): Promise<WorkerStatus> {
    const found = this.#find(name);
    if (found === undefined) throw this.#notFound(name);
    if (!(found instanceof LocalWorker))
      throw new CallError("invalid_input", `${name} is a module of the engine and has no process to restart; edit its block in the config file instead`);
    found.restart();
    return statusOfLocal(found, this.#connections);
  }

  /**
   * Resolves when the worker is in one of the states `until`, or after `timeoutMs`; a module as soon as it is not starting. Throws `worker_not_found` when
   * no config names it within 5 s, `overloaded` when too many wait, `call_cancelled` when the caller goes.
   */
  async wait(name: string, options: WaitOptions): Promise<WorkerStatus> {
    if (this.#waits.size >= MAX_WAITS) throw new CallError("overloaded", `${MAX_WAITS} calls wait for workers already; try again later`);
    const startedAtMs = this.#context.clock.monotonic();
    await this.#until(options.signal, () => {
      const waitedMs = this.#context.clock.monotonic() - startedAtMs;
      if (this.#stopped || waitedMs >= options.timeoutMs) return true;
      const found = this.#find(name);
      if (found === undefined) return waitedMs >= UNKNOWN_NAME_WAIT_MS;
      return found instanceof LocalWorker ? options.until.includes(found.standing.state) : found.state !== "starting";
    });
    return this.status(name);
  }

  #until(signal: AbortSignal, isDone: () => boolean): Promise<void> {
    return new Promise((resolve, reject) => {
      let cancelLook = (): void => {};
      const finish = (settle: () => void): void => {
        cancelLook();
        this.#waits.delete(look);
        signal.removeEventListener("abort", onAbort);
        settle();
      };
      const look = (): void => {
        cancelLook();
        if (isDone()) finish(resolve);
        else cancelLook = this.#context.clock.after(LOOK_EVERY_MS, look);
      };
      const onAbort = (): void => finish(() => reject(new CallError("call_cancelled", "the caller no longer waits")));
      if (signal.aborted) {
        onAbort();
        return;
      }
      signal.addEventListener("abort", onAbort, { once: true });
      this.#waits.add(look);
      look();
    });
  }

  #add(entry: LocalWorkerEntry): void {
    const predecessor = this.#leaving.get(entry.name) ?? Promise.resolve();
    const worker = new LocalWorker(entry, {
      ...this.#deps,
      clock: this.#context.clock,
      log: this.#context.log,
      records: this.#records,
      cleared: Promise.all([this.#cleared, predecessor]).then(() => {}),
      haveRegistered: (connections) => this.#connections.haveRegistered(connections),
      telemetry: this.#context.telemetry,
      sendLogs: (connections) => this.#connections.sendLogs(connections),
      onReady: () => this.#deps.claims.settled(entry.name),
      onChange: () => this.#notify(),
    });
    this.#workers.set(entry.name, worker);
    worker.start();
  }

  #remove(worker: LocalWorker, why: "gone" | "changed"): void {
    const { name } = worker.entry;
    this.#workers.delete(name);
    this.#leavingWorkers.add(worker);
    const before = this.#leaving.get(name);
    const left = Promise.all([before, worker.stop({ graceMs: STOP_GRACE_MS })])
      .then(() => {
        if (why === "gone" && !this.#workers.has(name)) this.#deps.claims.release(name);
      })
      .catch((error: unknown) => this.#context.log.error("a worker could not be stopped", { worker: name, error }))
      .finally(() => {
        this.#leavingWorkers.delete(worker);
        if (this.#leaving.get(name) === left) this.#leaving.delete(name);
      });
    this.#leaving.set(name, left);
  }

  async #endLeftovers(): Promise<void> {
    try {
      for (const folder of [this.#deps.logsDir, this.#deps.runDir]) await mkdir(folder, { recursive: true });
      for (const worker of await this.#records.endLeftovers()) this.#context.log.warn("processes that a former engine left behind were ended", { worker });
    } catch (error) {
      // Workers start all the same: a second copy of one does less harm than none of any.
      this.#context.log.error("what a former engine left behind could not be ended", { error });
    }
  }

  #killAll(): void {
    for (const worker of [...this.#workers.values(), ...this.#leavingWorkers]) worker.kill();
  }

  #find(name: string): LocalWorker | ModuleStanding | undefined {
    return this.#workers.get(name) ?? this.#deps.moduleStates().find((module) => module.name === name);
  }

  #notFound(name: string): CallError {
    const known = [...this.#workers.keys(), ...this.#deps.moduleStates().map((module) => module.name)].sort();
    const listed = known.length === 0 ? "none is configured" : `known are ${known.slice(0, 50).join(", ")}`;
    return new CallError("worker_not_found", `no worker is named ${name}; ${listed}`, { details: { name, known: known.slice(0, 50) } });
  }

  #notify(): void {
    for (const look of [...this.#waits]) look();
  }
}

/** Where an entry stands in the file makes no difference to its processes. */
function isSameWork(a: LocalWorkerEntry, b: LocalWorkerEntry): boolean {
  const work = ({ path, replicas, watch, env }: LocalWorkerEntry): unknown => ({ path, replicas, watch, env });
  return isDeepStrictEqual(work(a), work(b));
}
