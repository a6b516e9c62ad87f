import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { CallError } from "@svc/protocol";
import type { CommandEntry, LocalWorkerEntry, SupervisedEntry } from "../../config/types.ts";
import type { ModuleContext } from "../../kernel/module.ts";
import { didYouMean } from "../../kernel/nearest-name.ts";
import type { WorkerClaims } from "../../kernel/worker-claims.ts";
import type { AddressFacts } from "./address-variables.ts";
import { Connections } from "./connections.ts";
import { type Awaited, notReady, stopOrder } from "./dependencies.ts";
import type { LogsInput, LogsOutput } from "./functions.ts";
import { type Inspection, inspect } from "./inspect.ts";
import { MemoryLimits, unenforced } from "./memory-limits.ts";
import { readLogs } from "./read-logs.ts";
import { commandRecipe, RecipeError, workerRecipe } from "./recipe.ts";
import { RunRecords } from "./run-records.ts";
import { StandingStream } from "./standing-stream.ts";
import { DEFAULT_TAIL, isRemote, type ModuleStanding, statusesOfRemote, statusOfModule, statusOfUnit, type WorkerStatus } from "./status.ts";
import { STOP_GRACE_MS, Unit, type UnitParts } from "./unit.ts";
import { UsageMeter } from "./usage.ts";
import { WaitList } from "./wait-list.ts";
import type { WorkerState } from "./worker-state.ts";

/** States of a worker that is about to serve, or to serve more than now, without anybody's help. */
const STARTING: ReadonlySet<WorkerState> = new Set(["installing", "starting", "replacing", "backing_off"]);
/** The engine cuts a module off that takes 10 s to stop, so its workers get a little less then. */
const ENGINE_STOP_GRACE_MS = 9_000;
/** What each group of workers is left of it at least, where some depend on others. */
const GROUP_RESERVE_MS = 500;
/** How long a name is waited for that is in no config yet: its file may have been edited just now. */
const UNKNOWN_NAME_WAIT_MS = 5_000;
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
  /** Default none. */
  readonly commands?: readonly CommandEntry[] | undefined;
}

/** Runs the local workers of the config file and answers for them. */
export class Supervisor {
  readonly #context: ModuleContext<SupervisorConfig>;
  readonly #deps: SupervisorDeps;
  readonly #units = new Map<string, Unit>();
  /** Workers that left the config and are still ending, by name. */
  readonly #leaving = new Map<string, Promise<void>>();
  readonly #leavingUnits = new Set<Unit>();
  readonly #records: RunRecords;
  readonly #connections: Connections;
  readonly #cleared: Promise<void>;
  readonly #waits: WaitList;
  readonly #memoryLimits: MemoryLimits;
  readonly #stream: StandingStream;
  /** As the config has it now: a unit whose start order alone changed runs on. */
  #dependsOn: ReadonlyMap<string, readonly string[]> = new Map();
  readonly #usage = new UsageMeter();
  /** Calls that wait for log lines. */
  #followers = 0;
  #stopped = false;

  constructor(context: ModuleContext<SupervisorConfig>, deps: SupervisorDeps) {
    this.#context = context;
    this.#deps = deps;
    this.#records = new RunRecords(join(deps.runDir, "workers"));
    this.#connections = new Connections({
      directory: context.directory,
      claims: deps.claims,
      clock: context.clock,
      candidates: () => [...this.#units.values()].flatMap((worker) => worker.candidates),
      onError: (error) => context.log.error("the owner of a connection could not be found out", { error }),
    });
    this.#waits = new WaitList(context.clock);
    this.#memoryLimits = new MemoryLimits({
      clock: context.clock,
      units: () => this.#units.values(),
      onError: (error) => context.log.error("what the workers use could not be looked at", { error }),
    });
    this.#stream = new StandingStream(context, () => this.#units);
    this.#cleared = this.#endLeftovers();
    context.signal.addEventListener("abort", () => this.#killAll(), { once: true });
  }

  /** Makes exactly these run: new ones start, those that are gone stop, changed ones start anew. Does not wait for them. */
  apply(config: SupervisorConfig): void {
    const commands = config.commands ?? [];
    const wanted = new Map<string, SupervisedEntry>([...config.workers, ...commands].map((entry) => [entry.name, entry]));
    this.#dependsOn = new Map([...wanted.values()].map(({ name, dependsOn }) => [name, dependsOn]));
    const held = new Set<string>();
    for (const [name, unit] of this.#units) {
      const entry = wanted.get(name);
      if (entry !== undefined && isSameWork(unit.entry, entry)) continue;
      // What somebody stopped stays stopped, whatever its entry says now.
      if (entry !== undefined && unit.isHeld) held.add(name);
      this.#remove(unit, entry === undefined ? "gone" : "changed");
    }
    for (const entry of config.workers) {
      const { restartOrder } = entry;
      this.#add(entry, { recipe: workerRecipe(entry, this.#deps.projectDir), restartOrder, isHeld: held.has(entry.name) });
    }
    for (const entry of commands) {
      const kind = { readyWhen: "running", restart: entry.restart } as const;
      // Most of them need something alone, such as a port, and the engine sends them no calls.
      this.#add(entry, { recipe: commandRecipe(entry), kind, restartOrder: "stop_first", isHeld: held.has(entry.name) });
    }
    for (const unit of this.#units.values()) unit.begin();
    this.#memoryLimits.begin();
    this.#changed();
  }

  /** What depends on others goes first. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#memoryLimits.stop();
    const groups = stopOrder([...this.#dependsOn].map(([name, dependsOn]) => ({ name, dependsOn })));
    const deadlineMs = this.#context.clock.monotonic() + ENGINE_STOP_GRACE_MS;
    const reserveMs = Math.min(GROUP_RESERVE_MS, ENGINE_STOP_GRACE_MS / Math.max(1, groups.length));
    for (const [index, names] of groups.entries()) {
      const forOthersMs = reserveMs * (groups.length - 1 - index);
      // Time that those before did not need is of use to these.
      const graceMs = Math.max(reserveMs, deadlineMs - this.#context.clock.monotonic() - forOthersMs);
      await Promise.all(names.map((name) => this.#units.get(name)?.close({ graceMs })));
    }
    await Promise.all(this.#leaving.values());
    this.#connections.stop();
    this.#changed();
    this.#stream.stop();
  }

  /** Configured workers that are not ready for the first time yet, as a sentence for the readiness report. */
  readinessProblem(): string | undefined {
    const awaited = [...this.#units.values()].filter((unit) => unit.isAwaited).map((unit) => `${unit.entry.name} (${unit.standing.state})`);
    return awaited.length === 0 ? undefined : `workers are not ready yet: ${awaited.join(", ")}`;
  }

  startingWorkers(): string[] {
    return [...this.#units.values()].filter(({ standing }) => STARTING.has(standing.state)).map(({ entry }) => entry.name);
  }

  async list(options: { readonly includeRemote: boolean }): Promise<WorkerStatus[]> {
    const { directory } = this.#context;
    const local = await Promise.all([...this.#units.values()].map((unit) => this.#statusOf(unit, DEFAULT_TAIL)));
    const modules = this.#deps.moduleStates().map((module) => statusOfModule(module, directory));
    const remote = options.includeRemote ? statusesOfRemote(directory) : [];
    return [...local, ...modules, ...remote].sort((a, b) => (a.name < b.name ? -1 : 1));
  }

  /** Throws `worker_not_found`. */
  async status(name: string, options: { readonly tail: number }): Promise<WorkerStatus> {
    const found = this.#find(name);
    if (found === undefined) throw this.#notFound(name);
    return found instanceof Unit ? this.#statusOf(found, options.tail) : statusOfModule(found, this.#context.directory);
  }

  /** Throws `worker_not_found`; `invalid_input` for a module. */
  async steer(name: string, action: "start" | "stop" | "restart" | "update"): Promise<WorkerStatus> {
    const unit = this.#unit(name, `has no process to ${action === "update" ? "install anything for" : action}; edit its block in the config file instead`);
    if (action === "start") unit.start();
    else if (action === "stop") unit.stop();
    else unit.restart({ reinstall: action === "update" });
    return this.#statusOf(unit, DEFAULT_TAIL);
  }

  /** Throws as `steer` does. */
  async logs(input: LogsInput, signal: AbortSignal): Promise<LogsOutput> {
    const unit = this.#unit(input.name, "has no output of its own; what it logs is among the engine's log entries");
    const { clock, draining } = this.#context;
    if (input.cursor === undefined || input.wait_ms === 0) return readLogs(unit.output, input, { clock, signal, draining });
    if (this.#followers >= MAX_WAITS) throw new CallError("overloaded", `${MAX_WAITS} calls wait for log lines already; try again later`);
    this.#followers++;
    try {
      return await readLogs(unit.output, input, { clock, signal, draining });
    } finally {
      this.#followers--;
    }
  }

  /** Throws as `steer` does, and `invalid_input` with what is wrong with the manifest. */
  async inspect(name: string): Promise<Inspection> {
    const unit = this.#unit(name, "has no manifest; engine::config::effective tells its settings");
    try {
      return await inspect({
        entry: this.#currentEntry(unit),
        plan: await unit.recipe.read(),
        envFiles: unit.recipe.envFiles,
        projectDir: this.#deps.projectDir,
      });
    } catch (error) {
      if (error instanceof RecipeError) throw new CallError("invalid_input", error.message);
      throw error;
    }
  }

  /**
   * Resolves when the worker is in one of the states `until`, or after `timeoutMs`; a module as soon as it is not starting. Throws `worker_not_found` when
   * no config names it within 5 s, `overloaded` when too many wait, `call_cancelled` when the caller goes.
   */
  async wait(name: string, options: WaitOptions): Promise<WorkerStatus> {
    if (this.#waits.size >= MAX_WAITS) throw new CallError("overloaded", `${MAX_WAITS} calls wait for workers already; try again later`);
    const startedAtMs = this.#context.clock.monotonic();
    await this.#waits.until(options.signal, () => {
      const waitedMs = this.#context.clock.monotonic() - startedAtMs;
      if (this.#stopped || this.#context.draining.aborted || waitedMs >= options.timeoutMs) return true;
      const found = this.#find(name);
      if (found === undefined) return waitedMs >= UNKNOWN_NAME_WAIT_MS;
      return found instanceof Unit ? options.until.includes(found.standing.state) : found.state !== "starting";
    });
    return this.status(name, { tail: DEFAULT_TAIL });
  }

  #add(entry: SupervisedEntry, { kind, ...how }: Pick<UnitParts, "recipe" | "kind" | "restartOrder" | "isHeld">): void {
    if (this.#units.has(entry.name)) return;
    const predecessor = this.#leaving.get(entry.name) ?? Promise.resolve();
    const waitsFor = (): Awaited[] => notReady(this.#dependsOn.get(entry.name) ?? [], (name) => this.#find(name));
    const unit = new Unit(entry, {
      ...this.#deps,
      ...{ ...how, waitsFor, unenforced: unenforced(entry.limits) },
      ...(kind === undefined ? {} : { kind }),
      othersReady: (signal) => this.#waits.until(signal, () => waitsFor().length === 0),
      clock: this.#context.clock,
      log: this.#context.log,
      records: this.#records,
      cleared: Promise.all([this.#cleared, predecessor]).then(() => {}),
      haveRegistered: (connections) => this.#connections.haveRegistered(connections),
      telemetry: this.#context.telemetry,
      sendLogs: (connections) => this.#connections.sendLogs(connections),
      onReady: () => this.#deps.claims.settled(entry.name),
      onChange: () => this.#changed(),
    });
    this.#units.set(entry.name, unit);
  }

  #remove(unit: Unit, why: "gone" | "changed"): void {
    const { name } = unit.entry;
    this.#units.delete(name);
    this.#usage.forget(name);
    this.#leavingUnits.add(unit);
    const before = this.#leaving.get(name);
    const left = Promise.all([before, unit.close({ graceMs: STOP_GRACE_MS })])
      .then(() => {
        if (why === "gone" && !this.#units.has(name)) this.#deps.claims.release(name);
      })
      .catch((error: unknown) => this.#context.log.error("a worker could not be stopped", { worker: name, error }))
      .finally(() => {
        this.#leavingUnits.delete(unit);
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
    for (const unit of [...this.#units.values(), ...this.#leavingUnits]) unit.kill();
  }

  #changed(): void {
    this.#waits.lookAgain();
    this.#stream.changed();
  }

  #currentEntry(unit: Unit): SupervisedEntry {
    return { ...unit.entry, dependsOn: this.#dependsOn.get(unit.entry.name) ?? [] };
  }

  #statusOf(unit: Unit, tail: number): Promise<WorkerStatus> {
    return statusOfUnit(unit, { connections: this.#connections, usage: this.#usage, tail });
  }

  #find(name: string): Unit | ModuleStanding | undefined {
    return this.#units.get(name) ?? this.#deps.moduleStates().find((module) => module.name === name);
  }

  #unit(name: string, whyNoModule: string): Unit {
    const found = this.#find(name);
    if (found === undefined) throw this.#notFound(name);
    if (found instanceof Unit) return found;
    throw new CallError("invalid_input", `${name} is a module of the engine and ${whyNoModule}`);
  }

  #notFound(name: string): CallError {
    const known = [...this.#units.keys(), ...this.#deps.moduleStates().map((module) => module.name)].sort();
    const listed = known.length === 0 ? "none is configured" : `known are ${known.slice(0, 50).join(", ")}`;
    const isConnected = this.#context.directory.workers().some((view) => isRemote(view) && view.name === name);
    const message = isConnected
      ? `${name} is connected, but no entry of the config file: start and stop it where it runs`
      : `no worker is named ${name}${didYouMean(name, known) || `; ${listed}`}`;
    return new CallError("worker_not_found", message, { details: { name, known: known.slice(0, 50) } });
  }
}

/** Where an entry stands in the file makes no difference to its processes, nor does what it waits for once they run. */
function isSameWork(a: SupervisedEntry, b: SupervisedEntry): boolean {
  const work = (entry: SupervisedEntry): unknown => ({ ...entry, configuredPath: undefined, dependsOn: undefined, where: undefined });
  return isDeepStrictEqual(work(a), work(b));
}
