import { existsSync } from "node:fs";
import { Payload } from "@svc-runtime/protocol";
import type { Clock } from "./clock.ts";
import { describeIssues } from "./describe-issues.ts";
import type { DirectoryChanges } from "./directory-changes.ts";
import type { Logger } from "./logger.ts";
import type { Module, RunningModule } from "./module.ts";
import { type ContextPorts, ModuleContexts, type ModuleEnvironment } from "./module-context.ts";
import { ModuleProvider } from "./module-provider.ts";
import { Scope } from "./scope.ts";
import { refuseWhileStartingAgain } from "./starting-again.ts";

/** The parts of the kernel that the host uses. */
export interface HostPorts extends ContextPorts {
  readonly changes: DirectoryChanges;
  readonly clock: Clock;
  readonly log: Logger;
}

/** A module that should be running, with its config block from the file. */
export interface ModuleRequest {
  readonly name: string;
  /** Distinguishes several entries of one module, e.g. `svc-state#2`. Default: the name. */
  readonly instance?: string;
  readonly config: unknown;
}

export interface ModuleState {
  readonly name: string;
  readonly state: "starting" | "running" | "failed";
  readonly reason: string | undefined;
  readonly startedAtMs: number;
}

interface Start {
  /** Resolves with true if the start failed. */
  readonly hasFailed: Promise<boolean>;
  /** True if `restart` waits for this start. If the start fails, `restart` repeats it. */
  isRepeated: boolean;
}

interface Running {
  readonly instanceName: string;
  readonly module: Module;
  config: unknown;
  readonly scope: Scope;
  readonly provider: ModuleProvider;
  readonly instance: RunningModule;
  readonly abort: AbortController;
  readonly startedAtMs: number;
}

/** Time limit for stopping a module, in milliseconds. After it, the module's signal is aborted. */
const STOP_GRACE_MS = 10_000;

/** Pause between two attempts to start a module again, in milliseconds. */
const RESTART_MS = 1_000;

/** Starts, reconfigures and stops modules in a running engine. Undoes all registrations of a stopped module. */
export class ModuleHost {
  readonly #known: ReadonlyMap<string, Module>;
  readonly #ports: HostPorts;
  readonly #contexts: ModuleContexts;
  readonly #dataDir: string;
  readonly #clockOf: (module: string) => Clock;
  /** Running modules by instance name. */
  readonly #running = new Map<string, Running>();
  readonly #failed = new Map<
    string,
    { readonly request: ModuleRequest; readonly reason: string; readonly atMs: number }
  >();
  /** Starts in progress, by instance name. If the module ran before, its start begins with its stop. */
  readonly #starting = new Map<string, Start>();
  /** Errors of starts that `restart` repeats. */
  readonly #repeated = new WeakSet<Error>();
  /** Names of the instances whose start is repeated until it succeeds. */
  readonly #startingAgain = new Set<string>();
  /** The modules that should run, by instance name. */
  #requested: ReadonlyMap<string, ModuleRequest> = new Map();
  #isEnding = false;

  constructor(
    ports: HostPorts,
    options: ModuleEnvironment & {
      readonly modules: readonly Module[];
      /** The clock of a module. Default: the kernel's clock for all. */
      readonly clockOf?: (module: string) => Clock;
    },
  ) {
    this.#known = new Map(options.modules.map((module) => [module.name, module]));
    this.#ports = ports;
    this.#contexts = new ModuleContexts(ports, options);
    this.#dataDir = options.dataDir;
    this.#clockOf = options.clockOf ?? (() => ports.clock);
  }

  states(): ModuleState[] {
    const running = [...this.#running.values()].map(({ module, startedAtMs }) => ({
      name: module.name,
      state: "running" as const,
      reason: undefined,
      startedAtMs,
    }));
    const failed = [...this.#failed].map(([name, { reason, atMs }]) => ({
      name,
      state: "failed" as const,
      reason,
      startedAtMs: atMs,
    }));
    const starting = [...this.#starting.keys()].map((name) => ({
      name,
      state: "starting" as const,
      reason: undefined,
      startedAtMs: this.#ports.clock.now(),
    }));
    return [...running, ...failed, ...starting];
  }

  providers(): { readonly provider: ModuleProvider; readonly summary: string; readonly startedAtMs: number }[] {
    return [...this.#running.values()].map(({ provider, module, startedAtMs }) => ({
      provider,
      summary: module.summary,
      startedAtMs,
    }));
  }

  /**
   * Starts, reconfigures and stops modules until exactly the requested modules run. Returns one message for each module
   * that could not be started. The other modules run, or `restart` repeats their start.
   */
  async apply(requests: readonly ModuleRequest[]): Promise<string[]> {
    const wanted = new Map(requests.map((request) => [instanceOf(request), request]));
    this.#requested = wanted;
    // Wait for restarts that are in progress.
    while (this.#starting.size > 0) await Promise.all(this.#startsUnderWay());
    const gone = [...this.#running.values()].filter(({ instanceName }) => !wanted.has(instanceName));
    for (const running of gone.reverse()) await this.#stop(running);
    for (const name of this.#failed.keys()) if (!wanted.has(name)) this.#failed.delete(name);

    const problems: string[] = [];
    for (const request of this.#inStartOrder(requests)) {
      if (this.#isEnding) break;
      try {
        // A restart may have begun while other modules were started.
        while (this.#starting.has(instanceOf(request))) await this.#starting.get(instanceOf(request))?.hasFailed;
        await this.#startOrReconfigure(request);
        this.#failed.delete(instanceOf(request));
      } catch (error) {
        if (error instanceof NotWanted) continue;
        const reason = (error as Error).message;
        // The reason is written for users. The stack helps only developers of the module, so it is logged separately.
        this.#ports.log.error("a module could not be started", { module: instanceOf(request), reason });
        this.#ports.log.debug("why a module could not be started", { module: instanceOf(request), error });
        // `restart` was called during this start and repeats it, so this failure is not final.
        if (this.#repeated.has(error as Error)) continue;
        this.#failed.set(instanceOf(request), { request, reason, atMs: this.#ports.clock.now() });
        problems.push(`${instanceOf(request)}: ${reason}`);
      }
    }
    return problems;
  }

  /**
   * Stops a module and starts it again with the config that is requested at that time. Repeats a failed start until it
   * succeeds, or until the module is no longer requested. Waits first for a start that is in progress. If that start
   * fails, it is repeated too, because the cause may be the same as the cause of this restart. Calls of the module's
   * functions fail with `draining` in the meantime.
   */
  async restart(instanceName: string): Promise<void> {
    const starting = this.#starting.get(instanceName);
    if (starting !== undefined) starting.isRepeated = true;
    const hasFailed = starting !== undefined && (await starting.hasFailed);
    const running = this.#running.get(instanceName);
    if (running === undefined) {
      if (hasFailed && !this.#startingAgain.has(instanceName)) await this.#startAgain(instanceName);
      return;
    }
    const admitCalls = refuseWhileStartingAgain(running.provider, this.#ports.registry);
    try {
      await this.#asStarting(instanceName, () => this.#stop(running));
      await this.#startAgain(instanceName);
    } finally {
      admitCalls();
    }
  }

  async #startAgain(instanceName: string): Promise<void> {
    this.#startingAgain.add(instanceName);
    try {
      await this.#startUntilItRuns(instanceName);
    } finally {
      this.#startingAgain.delete(instanceName);
    }
  }

  async #startUntilItRuns(instanceName: string): Promise<void> {
    for (;;) {
      const request = this.#requested.get(instanceName);
      if (request === undefined || this.#isEnding || this.#running.has(instanceName)) return;
      // `apply` may be starting the module with a new config.
      const starting = this.#starting.get(instanceName);
      const hasFailed = starting === undefined ? !(await this.#triesAgain(request)) : await starting.hasFailed;
      if (hasFailed) await new Promise<void>((resolve) => this.#ports.clock.after(RESTART_MS, resolve));
    }
  }

  /** Resolves with true if no further attempt is needed: the module runs, or it should no longer run. */
  async #triesAgain(request: ModuleRequest): Promise<boolean> {
    const instanceName = instanceOf(request);
    try {
      await this.#startOrReconfigure(request);
      this.#failed.delete(instanceName);
    } catch (error) {
      if (error instanceof NotWanted || !this.#requested.has(instanceName)) return true;
      const reason = (error as Error).message;
      this.#failed.set(instanceName, { request, reason, atMs: this.#ports.clock.now() });
      this.#ports.log.error("a module could not be started again yet", { module: instanceName, reason });
      return false;
    }
    return true;
  }

  /** Notifies the modules that the engine begins to shut down. */
  startDraining(): void {
    this.#contexts.startDraining();
  }

  /** Stops all modules, the latest first. */
  async stopAll(): Promise<void> {
    this.#isEnding = true;
    await this.#awaitStarts();
    for (const running of [...this.#running.values()].reverse()) await this.#stop(running);
  }

  /** Waits up to STOP_GRACE_MS for starts in progress. A start that takes longer stops its module itself at its end. */
  async #awaitStarts(): Promise<void> {
    const starts = this.#startsUnderWay();
    if (starts.length === 0) return;
    let cancel = (): void => {};
    const graceOver = new Promise<void>((resolve) => {
      cancel = this.#ports.clock.after(STOP_GRACE_MS, resolve);
    });
    await Promise.race([Promise.all(starts), graceOver]);
    cancel();
  }

  #startsUnderWay(): readonly Promise<boolean>[] {
    return [...this.#starting.values()].map(({ hasFailed }) => hasFailed);
  }

  async #startOrReconfigure(request: ModuleRequest): Promise<void> {
    const module = this.#known.get(request.name);
    if (module === undefined) throw new Error(`this engine has no module named ${request.name}`);
    const parsed = module.config.safeParse(request.config ?? {});
    if (!parsed.success)
      throw new Error(
        describeIssues(parsed.error, { whole: "config", schema: module.config, value: request.config ?? {} }),
      );
    const running = this.#running.get(instanceOf(request));
    const start = (): Promise<void> => this.#startNow(module, instanceOf(request), parsed.data);
    if (running === undefined) {
      await this.#asStarting(instanceOf(request), start);
      return;
    }
    if (isDeepEqual(running.config, parsed.data)) return;
    if (running.instance.reconfigure !== undefined && (await running.instance.reconfigure(parsed.data)) !== "restart") {
      running.config = parsed.data;
      return;
    }
    await this.#asStarting(running.instanceName, async () => {
      await this.#stop(running);
      await start();
    });
  }

  async #asStarting(instanceName: string, action: () => Promise<void>): Promise<void> {
    let ended = (_hasFailed: boolean): void => {};
    const start: Start = {
      hasFailed: new Promise((resolve) => {
        ended = resolve;
      }),
      isRepeated: false,
    };
    this.#starting.set(instanceName, start);
    let hasFailed = true;
    try {
      await action();
      hasFailed = false;
    } catch (error) {
      if (start.isRepeated && error instanceof Error) this.#repeated.add(error);
      throw error;
    } finally {
      this.#starting.delete(instanceName);
      ended(hasFailed);
    }
  }

  async #startNow(module: Module, instanceName: string, config: unknown): Promise<void> {
    if (this.#isEnding) throw new NotWanted("the engine stops");
    const ports = this.#ports;
    const scope = new Scope();
    const abort = new AbortController();
    const log = ports.log.with({ module: instanceName });
    const provider = new ModuleProvider(instanceName, log, ports);
    let running: Running;
    // If the folder was moved away, a start would create a new folder in its place. Then it could not be moved back.
    if (!existsSync(this.#dataDir))
      throw new Error(`the data folder ${this.#dataDir} is missing: move it back, or restart the engine`);
    try {
      const clock = this.#clockOf(module.name);
      const context = this.#contexts.create({ config, scope, signal: abort.signal, provider, log, clock });
      const instance = await module.start(context);
      const startedAtMs = ports.clock.now();
      running = { instanceName, module, config, scope, provider, instance, abort, startedAtMs };
    } catch (error) {
      abort.abort();
      provider.stop();
      scope.end();
      throw error;
    }
    this.#running.set(instanceName, running);
    ports.changes.emit({ kind: "worker", id: provider.workerId, op: "created" });
    if (this.#isEnding || !this.#requested.has(instanceName)) {
      await this.#stop(running);
      throw new NotWanted(`the module ${instanceName} is not to run any more`);
    }
    log.debug("a module started");
  }

  async #stop(running: Running): Promise<void> {
    const { instanceName, scope, provider, instance, abort } = running;
    this.#running.delete(instanceName);
    let cancelGrace = (): void => {};
    const graceOver = new Promise<"late">((resolve) => {
      cancelGrace = this.#ports.clock.after(STOP_GRACE_MS, () => {
        abort.abort();
        resolve("late");
      });
    });
    try {
      const ended = await Promise.race([Promise.resolve(instance.stop()), graceOver]);
      if (ended === "late")
        this.#ports.log.warn("a module did not stop in time and was aborted", {
          module: instanceName,
          grace_ms: STOP_GRACE_MS,
        });
    } catch (error) {
      this.#ports.log.error("a module failed while stopping", { module: instanceName, error });
    }
    cancelGrace();
    abort.abort();
    provider.stop();
    scope.end();
    this.#ports.changes.emit({ kind: "worker", id: provider.workerId, op: "removed" });
  }

  #inStartOrder(requests: readonly ModuleRequest[]): ModuleRequest[] {
    const byName = new Map(requests.map((request) => [request.name, request]));
    const ordered: ModuleRequest[] = [];
    const visit = (request: ModuleRequest, path: readonly string[]): void => {
      if (ordered.includes(request)) return;
      if (path.includes(request.name))
        throw new TypeError(`modules require each other in a cycle: ${[...path, request.name].join(" -> ")}`);
      for (const required of this.#known.get(request.name)?.requires ?? []) {
        const found = byName.get(required);
        if (found !== undefined) visit(found, [...path, request.name]);
      }
      ordered.push(request);
    };
    for (const request of requests) visit(request, []);
    return ordered;
  }
}

/** Thrown by a start if the module should no longer run. */
class NotWanted extends Error {}

function instanceOf(request: ModuleRequest): string {
  return request.instance ?? request.name;
}

function isDeepEqual(a: unknown, b: unknown): boolean {
  return Payload.fromValue(a).text() === Payload.fromValue(b).text();
}
