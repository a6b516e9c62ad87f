import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { CallError, didYouMean } from "@svc-runtime/protocol";
import type { CommandEntry, LocalWorkerEntry, SupervisedEntry } from "../../config/types.ts";
import type { ModuleContext } from "../../kernel/module.ts";
import type { WorkerClaims, WorkerStandby } from "../../kernel/worker-claims.ts";
import type { AddressFacts } from "./address-variables.ts";
import { notReady, type PendingDependency, stopOrder } from "./dependencies.ts";
import { type Inspection, inspect } from "./inspect-worker.ts";
import { type LogsOptions, type LogsOutput, readLogs } from "./logs/read-logs.ts";
import { MemoryLimits, unenforced } from "./memory-limits.ts";
import { UsageMeter } from "./process-usage.ts";
import { RunRecords } from "./run-records.ts";
import {
  DEFAULT_TAIL,
  isRemote,
  type ModuleStatus,
  statusesOfRemote,
  statusOfModule,
  statusOfUnit,
  type WorkerStatus,
} from "./status.ts";
import { StatusStream } from "./status-stream.ts";
import { Unit, type UnitParts } from "./unit.ts";
import { commandPreparation, UnitPreparationError, workerPreparation } from "./unit-preparation.ts";
import { WaitList } from "./wait-list.ts";
import { Connections } from "./worker-connections.ts";
import { STOP_GRACE_MS } from "./worker-process.ts";
import type { WorkerState } from "./worker-state.ts";

/** States of a worker that becomes ready without outside help. */
const STARTING: ReadonlySet<WorkerState> = new Set(["installing", "starting", "replacing", "backing_off"]);
/** Maximum time to stop all workers. It is less than 10 s, because the engine then aborts a module that is stopping. */
const ENGINE_STOP_GRACE_MS = 9_000;
/**
 * Minimum time in which each group of workers can stop. There are several groups if workers depend on other workers.
 */
const GROUP_RESERVE_MS = 500;
/** How long a call waits for an unknown name, because the config file may have just been edited. */
const UNKNOWN_NAME_WAIT_MS = 5_000;
const MAX_WAITS = 1_000;

export interface SupervisorDeps extends AddressFacts {
  /** Absolute path of the config file's folder. */
  readonly projectDir: string;
  /** Absolute path of the folder for `<name>.log`. */
  readonly logsDir: string;
  /** Absolute path of the folder for records of running process groups, e.g. `/project/.svc/run`. */
  readonly runDir: string;
  readonly claims: WorkerClaims;
  readonly standby: WorkerStandby;
  /**
   * Returns the id of the principal of a role's token; undefined for other tokens. Default: there are no roles.
   */
  readonly principalOfToken?: (token: string) => string | undefined;
  /** Returns the status of the modules of the config file. */
  readonly moduleStates: () => readonly ModuleStatus[];
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

/** Runs and controls the local workers of the config file. */
export class Supervisor {
  readonly #context: ModuleContext<SupervisorConfig>;
  readonly #deps: SupervisorDeps;
  readonly #units = new Map<string, Unit>();
  /** Removed workers that are still stopping, by name. */
  readonly #stopping = new Map<string, Promise<void>>();
  readonly #stoppingUnits = new Set<Unit>();
  readonly #records: RunRecords;
  readonly #connections: Connections;
  readonly #leftoversEnded: Promise<void>;
  readonly #waits: WaitList;
  readonly #memoryLimits: MemoryLimits;
  readonly #stream: StatusStream;
  /**
   * Dependencies in the current config, by name. The entries of units may be older: new dependencies restart no unit.
   */
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
      standby: deps.standby,
      clock: context.clock,
      principalOfToken: (token) => deps.principalOfToken?.(token),
      candidates: () => [...this.#units.values()].flatMap((worker) => worker.candidates),
      onError: (error) => context.log.error("owner of a connection could not be determined", { error }),
    });
    this.#waits = new WaitList(context.clock);
    this.#memoryLimits = new MemoryLimits({
      clock: context.clock,
      units: () => this.#units.values(),
      onError: (error) => context.log.error("memory use of workers could not be checked", { error }),
    });
    this.#stream = new StatusStream(context, () => this.#units);
    this.#leftoversEnded = this.#endLeftovers();
    context.signal.addEventListener("abort", () => this.#killAll(), { once: true });
  }

  /**
   * Applies a config: starts new workers, stops removed workers, restarts changed workers. Does not wait for the
   * result.
   */
  apply(config: SupervisorConfig): void {
    const commands = config.commands ?? [];
    const wanted = new Map<string, SupervisedEntry>(
      [...config.workers, ...commands].map((entry) => [entry.name, entry]),
    );
    this.#dependsOn = new Map([...wanted.values()].map(({ name, dependsOn }) => [name, dependsOn]));
    const held = new Set<string>();
    for (const [name, unit] of this.#units) {
      const entry = wanted.get(name);
      if (entry !== undefined && needsNoRestart(unit.entry, entry)) continue;
      // A worker that was stopped by a call stays stopped, even if its entry changes.
      if (entry !== undefined && unit.isHeld) held.add(name);
      this.#remove(unit, entry === undefined ? "removed" : "changed");
    }
    for (const entry of config.workers) {
      const { overlap } = entry;
      this.#add(entry, {
        preparation: workerPreparation(entry, this.#deps.projectDir),
        overlap,
        isHeld: held.has(entry.name),
      });
    }
    for (const entry of commands) {
      const kind = { readyWhen: "running", restart: entry.restart } as const;
      // No overlap: most commands cannot run twice at a time, e.g. because of a port. And the engine sends commands no
      // calls, so nothing is interrupted.
      this.#add(entry, {
        preparation: commandPreparation(entry),
        kind,
        overlap: false,
        isHeld: held.has(entry.name),
      });
    }
    for (const unit of this.#units.values()) unit.begin();
    this.#memoryLimits.begin();
    this.#changed();
  }

  /** Stops all workers, dependents first. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#memoryLimits.stop();
    const groups = stopOrder([...this.#dependsOn].map(([name, dependsOn]) => ({ name, dependsOn })));
    const deadlineMs = this.#context.clock.monotonic() + ENGINE_STOP_GRACE_MS;
    const reserveMs = Math.min(GROUP_RESERVE_MS, ENGINE_STOP_GRACE_MS / Math.max(1, groups.length));
    for (const [index, names] of groups.entries()) {
      const forOthersMs = reserveMs * (groups.length - 1 - index);
      // A group may also use the time that earlier groups did not need.
      const graceMs = Math.max(reserveMs, deadlineMs - this.#context.clock.monotonic() - forOthersMs);
      await Promise.all(names.map((name) => this.#units.get(name)?.close({ graceMs })));
    }
    await Promise.all([...this.#stopping.values(), this.#leftoversEnded]);
    this.#connections.stop();
    this.#changed();
    this.#stream.stop();
  }

  /** Returns the configured workers that have never been ready, as a sentence for the readiness report. */
  readinessProblem(): string | undefined {
    const awaited = [...this.#units.values()]
      .filter((unit) => unit.isAwaited)
      .map((unit) => `${unit.entry.name} (${unit.status.state})`);
    return awaited.length === 0 ? undefined : `workers are not ready yet: ${awaited.join(", ")}`;
  }

  startingWorkers(): string[] {
    return [...this.#units.values()].filter(({ status }) => STARTING.has(status.state)).map(({ entry }) => entry.name);
  }

  async list(options: { readonly includeRemote: boolean }): Promise<WorkerStatus[]> {
    const { directory } = this.#context;
    const { nodes } = this.#context;
    const node = nodes === undefined ? {} : { node: nodes.name };
    const local = await Promise.all(
      [...this.#units.values()].map(async (unit) => ({ ...(await this.#statusOf(unit, DEFAULT_TAIL)), ...node })),
    );
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
  async control(name: string, action: "start" | "stop" | "restart" | "update"): Promise<WorkerStatus> {
    const unit = this.#unit(name, `has no process to ${action}; edit its block in the config file instead`);
    if (action === "start") unit.start();
    else if (action === "stop") unit.stop();
    else unit.restart({ reinstall: action === "update" });
    return this.#statusOf(unit, DEFAULT_TAIL);
  }

  /** Throws as `control` does. */
  async logs(name: string, input: LogsOptions, signal: AbortSignal): Promise<LogsOutput> {
    const unit = this.#unit(name, "has no output of its own; its log entries are part of the engine's log");
    const { clock, draining } = this.#context;
    if (input.cursor === undefined || input.wait_ms === 0)
      return readLogs(unit.output, input, { clock, signal, draining });
    if (this.#followers >= MAX_WAITS)
      throw new CallError("overloaded", `${MAX_WAITS} calls already wait for log lines; try again later`);
    this.#followers++;
    try {
      return await readLogs(unit.output, input, { clock, signal, draining });
    } finally {
      this.#followers--;
    }
  }

  /** Throws as `control` does, and `invalid_input` with what is wrong with the manifest. */
  async inspect(name: string): Promise<Inspection> {
    const unit = this.#unit(name, "has no manifest; engine::config::effective returns its settings");
    try {
      return await inspect({
        entry: this.#currentEntry(unit),
        plan: await unit.preparation.read(),
        envFiles: unit.preparation.envFiles,
        projectDir: this.#deps.projectDir,
      });
    } catch (error) {
      if (error instanceof UnitPreparationError) throw new CallError("invalid_input", error.message);
      throw error;
    }
  }

  /**
   * Resolves when the worker is in one of the states `until`, or after `timeoutMs`. For a module, resolves as soon as
   * it is not starting. Throws in three cases: `worker_not_found` if the config does not have the name within 5 s;
   * `overloaded` if too many calls wait; `call_cancelled` if the call is cancelled.
   */
  async wait(name: string, options: WaitOptions): Promise<WorkerStatus> {
    if (this.#waits.size >= MAX_WAITS)
      throw new CallError("overloaded", `${MAX_WAITS} calls already wait for workers; try again later`);
    const startedAtMs = this.#context.clock.monotonic();
    await this.#waits.until(options.signal, () => {
      const waitedMs = this.#context.clock.monotonic() - startedAtMs;
      if (this.#stopped || this.#context.draining.aborted || waitedMs >= options.timeoutMs) return true;
      const found = this.#find(name);
      if (found === undefined) return waitedMs >= UNKNOWN_NAME_WAIT_MS;
      return found instanceof Unit ? options.until.includes(found.status.state) : found.state !== "starting";
    });
    return this.status(name, { tail: DEFAULT_TAIL });
  }

  #add(entry: SupervisedEntry, { kind, ...how }: Pick<UnitParts, "preparation" | "kind" | "overlap" | "isHeld">): void {
    if (this.#units.has(entry.name)) return;
    const predecessor = this.#stopping.get(entry.name) ?? Promise.resolve();
    const waitsFor = (): PendingDependency[] =>
      notReady(this.#dependsOn.get(entry.name) ?? [], (name) => this.#find(name));
    const unit = new Unit(entry, {
      ...this.#deps,
      ...{ ...how, waitsFor, unenforced: unenforced(entry.limits) },
      ...(kind === undefined ? {} : { kind }),
      othersReady: (signal) => this.#waits.until(signal, () => waitsFor().length === 0),
      clock: this.#context.clock,
      log: this.#context.log,
      records: this.#records,
      leftoversEnded: Promise.all([this.#leftoversEnded, predecessor]).then(() => {}),
      haveRegistered: (connections) => this.#connections.haveRegistered(connections),
      telemetry: this.#context.telemetry,
      sendLogs: (connections) => this.#connections.sendLogs(connections),
      onReady: () => this.#deps.claims.settled(entry.name),
      onChange: () => this.#changed(),
    });
    this.#units.set(entry.name, unit);
  }

  #remove(unit: Unit, why: "removed" | "changed"): void {
    const { name } = unit.entry;
    this.#units.delete(name);
    this.#usage.forget(name);
    this.#stoppingUnits.add(unit);
    const before = this.#stopping.get(name);
    const left = Promise.all([before, unit.close({ graceMs: STOP_GRACE_MS })])
      .then(() => {
        if (why === "removed" && !this.#units.has(name)) this.#deps.claims.release(name);
      })
      .catch((error: unknown) => this.#context.log.error("worker could not be stopped", { worker: name, error }))
      .finally(() => {
        this.#stoppingUnits.delete(unit);
        if (this.#stopping.get(name) === left) this.#stopping.delete(name);
      });
    this.#stopping.set(name, left);
  }

  async #endLeftovers(): Promise<void> {
    try {
      for (const folder of [this.#deps.logsDir, this.#deps.runDir]) await mkdir(folder, { recursive: true });
      for (const worker of await this.#records.endLeftovers())
        this.#context.log.warn("processes left by an earlier engine ended", { worker });
    } catch (error) {
      // Workers start nevertheless: a duplicate process does less harm than no worker.
      this.#context.log.error("processes left by an earlier engine could not be ended", { error });
    }
  }

  #killAll(): void {
    for (const unit of [...this.#units.values(), ...this.#stoppingUnits]) unit.kill();
  }

  #changed(): void {
    this.#connections.standbyChanged();
    this.#waits.checkAll();
    this.#stream.changed();
  }

  #currentEntry(unit: Unit): SupervisedEntry {
    return { ...unit.entry, dependsOn: this.#dependsOn.get(unit.entry.name) ?? [] };
  }

  #statusOf(unit: Unit, tail: number): Promise<WorkerStatus> {
    return statusOfUnit(unit, { connections: this.#connections, usage: this.#usage, tail });
  }

  #find(name: string): Unit | ModuleStatus | undefined {
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
      ? `${name} is connected, but not in the config file: start and stop it where it runs`
      : `no worker is named ${name}${didYouMean(name, known) || `; ${listed}`}`;
    return new CallError("worker_not_found", message, { details: { name, known: known.slice(0, 50) } });
  }
}

/** Ignores the position of an entry in the file, and its dependencies, because they do not affect running processes. */
function needsNoRestart(a: SupervisedEntry, b: SupervisedEntry): boolean {
  const relevant = (entry: SupervisedEntry): unknown => ({
    ...entry,
    configuredPath: undefined,
    dependsOn: undefined,
    where: undefined,
  });
  return isDeepStrictEqual(relevant(a), relevant(b));
}
