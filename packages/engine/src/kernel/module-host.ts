import { existsSync } from "node:fs";
import { CallError, type FunctionId, nameProblem, Payload, type TriggerTypeId } from "@svc/protocol";
import { TRUSTED } from "../access/principal.ts";
import { callerAccess } from "./caller-access.ts";
import { createChannel } from "./channels/create-channel.ts";
import { resolveChannels } from "./channels/resolve-channels.ts";
import { takeChannelReader } from "./channels/take-channel-reader.ts";
import type { Clock } from "./clock.ts";
import { describeIssues } from "./describe-issues.ts";
import type { Directory } from "./directory.ts";
import type { Kernel } from "./kernel.ts";
import { jsonSchemaOf, schemaOf } from "./lazy-schema.ts";
import {
  type FunctionSpec,
  type HttpMount,
  type ListenOptions,
  type Module,
  type ModuleContext,
  type ModuleListener,
  type OutboundRules,
  type RunningModule,
  STRICT_OUTBOUND_RULES,
  type TriggerBinding,
  type TriggerSpec,
} from "./module.ts";
import { ModuleProvider } from "./module-provider.ts";
import { moduleStreams } from "./module-streams.ts";
import { Scope, type Undo } from "./scope.ts";

/** The listener functions that the host needs. */
export interface MountPoints {
  mountHttp(mount: HttpMount): Undo;
  listen(options: ListenOptions): Promise<ModuleListener>;
  reportReadiness(problem: () => string | undefined): Undo;
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

/** Time limit for stopping a module, in milliseconds. Its signal is aborted then. */
const STOP_GRACE_MS = 10_000;

/** Starts, reconfigures and stops modules in a running engine. Undoes all registrations of a stopped module. */
export class ModuleHost {
  readonly #known: ReadonlyMap<string, Module>;
  readonly #kernel: Kernel;
  readonly #directory: Directory;
  readonly #mounts: MountPoints;
  readonly #dataDir: string;
  readonly #production: () => boolean;
  readonly #outboundRules: () => OutboundRules;
  readonly #clockOf: (module: string) => Clock;
  /** By instance. */
  readonly #running = new Map<string, Running>();
  readonly #failed = new Map<
    string,
    { readonly request: ModuleRequest; readonly reason: string; readonly atMs: number }
  >();
  readonly #starting = new Set<string>();
  readonly #startingWorkers = new Set<() => readonly string[]>();
  readonly #draining = new AbortController();

  constructor(options: {
    readonly modules: readonly Module[];
    readonly kernel: Kernel;
    readonly directory: Directory;
    readonly mounts: MountPoints;
    readonly dataDir: string;
    /** See `ModuleContext.production`. */
    readonly production: () => boolean;
    /** See `ModuleContext.outboundRules`. Default: strict. */
    readonly outboundRules?: () => OutboundRules;
    /** The clock of a module. Default: the kernel's clock for all. */
    readonly clockOf?: (module: string) => Clock;
  }) {
    this.#known = new Map(options.modules.map((module) => [module.name, module]));
    this.#kernel = options.kernel;
    this.#directory = options.directory;
    this.#mounts = options.mounts;
    this.#dataDir = options.dataDir;
    this.#production = options.production;
    this.#outboundRules = options.outboundRules ?? (() => STRICT_OUTBOUND_RULES);
    this.#clockOf = options.clockOf ?? (() => options.kernel.clock);
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
    const starting = [...this.#starting].map((name) => ({
      name,
      state: "starting" as const,
      reason: undefined,
      startedAtMs: this.#kernel.clock.now(),
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
   * Starts, reconfigures and stops modules until exactly the requested ones run. Returns one message for each module
   * that could not be started; the others run.
   */
  async apply(requests: readonly ModuleRequest[]): Promise<string[]> {
    const wanted = new Set(requests.map(instanceOf));
    const gone = [...this.#running.values()].filter(({ instanceName }) => !wanted.has(instanceName));
    for (const running of gone.reverse()) await this.#stop(running);
    for (const name of this.#failed.keys()) if (!wanted.has(name)) this.#failed.delete(name);

    const problems: string[] = [];
    for (const request of this.#inStartOrder(requests)) {
      try {
        await this.#startOrReconfigure(request);
        this.#failed.delete(instanceOf(request));
      } catch (error) {
        const reason = (error as Error).message;
        this.#failed.set(instanceOf(request), { request, reason, atMs: this.#kernel.clock.now() });
        // The reason is written for users; the stack only helps developers of the module.
        this.#kernel.log.error("a module could not be started", { module: instanceOf(request), reason });
        this.#kernel.log.debug("why a module could not be started", { module: instanceOf(request), error });
        problems.push(`${instanceOf(request)}: ${reason}`);
      }
    }
    return problems;
  }

  /** Notifies the modules that the engine begins to shut down. */
  startDraining(): void {
    this.#draining.abort();
  }

  /** Stops all modules, the latest first. */
  async stopAll(): Promise<void> {
    for (const running of [...this.#running.values()].reverse()) await this.#stop(running);
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
    if (running === undefined) {
      await this.#start(module, instanceOf(request), parsed.data);
      return;
    }
    if (isDeepEqual(running.config, parsed.data)) return;
    if (running.instance.reconfigure !== undefined && (await running.instance.reconfigure(parsed.data)) !== "restart") {
      running.config = parsed.data;
      return;
    }
    await this.#stop(running);
    await this.#start(module, running.instanceName, parsed.data);
  }

  async #start(module: Module, instanceName: string, config: unknown): Promise<void> {
    const kernel = this.#kernel;
    const scope = new Scope();
    const abort = new AbortController();
    const log = kernel.log.with({ module: instanceName });
    const provider = new ModuleProvider({
      name: instanceName,
      router: kernel.router,
      log,
      accessOf: (workerId) => callerAccess(workerId, kernel),
      principalOf: (workerId) => kernel.sessions.byId(workerId)?.principal,
    });
    // The folder was moved away: starting would create a new one in its place and block moving it back.
    if (!existsSync(this.#dataDir))
      throw new Error(`the data folder ${this.#dataDir} is missing: move it back, or restart the engine`);
    this.#starting.add(instanceName);
    try {
      const context = this.#contextFor({ config, scope, abort, provider, log, clock: this.#clockOf(module.name) });
      const instance = await module.start(context);
      this.#running.set(instanceName, {
        instanceName,
        module,
        config,
        scope,
        provider,
        instance,
        abort,
        startedAtMs: kernel.clock.now(),
      });
      kernel.changes.emit({ kind: "worker", id: provider.workerId, op: "created" });
      log.debug("a module started");
    } catch (error) {
      abort.abort();
      provider.stop();
      scope.end();
      throw error;
    } finally {
      this.#starting.delete(instanceName);
    }
  }

  async #stop(running: Running): Promise<void> {
    const { instanceName, scope, provider, instance, abort } = running;
    this.#running.delete(instanceName);
    let cancelGrace = (): void => {};
    const graceOver = new Promise<"late">((resolve) => {
      cancelGrace = this.#kernel.clock.after(STOP_GRACE_MS, () => {
        abort.abort();
        resolve("late");
      });
    });
    try {
      const ended = await Promise.race([Promise.resolve(instance.stop()), graceOver]);
      if (ended === "late")
        this.#kernel.log.warn("a module did not stop in time and was aborted", {
          module: instanceName,
          grace_ms: STOP_GRACE_MS,
        });
    } catch (error) {
      this.#kernel.log.error("a module failed while stopping", { module: instanceName, error });
    }
    cancelGrace();
    abort.abort();
    provider.stop();
    scope.end();
    this.#kernel.changes.emit({ kind: "worker", id: provider.workerId, op: "removed" });
  }

  #contextFor(own: {
    config: unknown;
    scope: Scope;
    abort: AbortController;
    provider: ModuleProvider;
    log: Kernel["log"];
    clock: Clock;
  }): ModuleContext<unknown> {
    const { config, scope, abort, provider, log, clock } = own;
    const kernel = this.#kernel;
    const production = this.#production;
    const outboundRules = this.#outboundRules;
    const caller = { worker_id: provider.workerId, name: provider.name };
    return {
      config,
      log,
      clock,
      signal: abort.signal,
      draining: this.#draining.signal,
      identity: kernel.identity,
      get outboundRules() {
        return outboundRules();
      },
      dataDir: this.#dataDir,
      get production() {
        return production();
      },
      directory: this.#directory,
      providerOf: (functionId) => kernel.registry.find(functionId as FunctionId)?.registrations[0]?.provider.principal,
      call: (functionId, payload, options = {}) =>
        kernel.router.call(functionId as FunctionId, payload, {
          ...options,
          caller,
          // While the engine drains, modules only finish work that they have accepted before.
          whileDraining: true,
        }),
      provideFunction: (spec) => scope.add(this.#provideFunction(spec as FunctionSpec<unknown>, provider)),
      provideTrigger: (spec) => scope.add(this.#provideTrigger(spec as TriggerSpec<unknown>, provider)),
      reserveFunction: (functionId) => scope.add(kernel.reservedIds.name(functionId)),
      rememberFunction(functionId, caller) {
        if (caller === undefined || kernel.sessions.byId(caller.worker_id)?.principal.isTrusted === true)
          kernel.reservedIds.rememberCalled(functionId);
      },
      runInvocations: (runner) => scope.add(kernel.invocations.provide(runner)),
      createChannel: (options) => createChannel(options ?? {}, { kernel, scope }),
      takeChannelReader: (ref) => takeChannelReader(ref, { kernel, scope }),
      resolveChannels: (find) => resolveChannels(find, { kernel, scope }),
      unownedTriggers: kernel.unownedTriggers,
      isRoleInForce: (role) => kernel.roles.isInForce(role),
      accessOf: (workerId) => callerAccess(workerId, kernel),
      mountHttp: (mount) => scope.add(this.#mounts.mountHttp(mount)),
      listen: async (options) => {
        const listener = await this.#mounts.listen(options);
        const close = scope.add(() => listener.close());
        return {
          get port() {
            return listener.port;
          },
          close,
        };
      },
      streams: moduleStreams(kernel.streams, scope),
      telemetry: {
        startSpan: (span) => kernel.telemetry.startSpan(span, provider.name),
        log: (entry) => kernel.telemetry.log(entry),
        provideMeasurements: (measure) => scope.add(kernel.telemetry.provideMeasurements(measure)),
        get measures() {
          return kernel.telemetry.measures;
        },
        provideWorkerMetrics: (read) => scope.add(kernel.telemetry.provideWorkerMetrics(read)),
        workerMetrics: (workerId) => kernel.telemetry.workerMetrics(workerId),
        collect: (collector) => scope.add(kernel.telemetry.collect(collector)),
      },
      reportReadiness: (problem) => scope.add(this.#mounts.reportReadiness(problem)),
      reportStartingWorkers: (names) => {
        this.#startingWorkers.add(names);
        return scope.add(() => this.#startingWorkers.delete(names));
      },
      startingWorkers: () => [...this.#startingWorkers].flatMap((names) => names()),
      reportHealth: (component, probe) => scope.add(kernel.health.report(component, provider.name, probe)),
      health: () => kernel.health.read(),
    };
  }

  #provideFunction(spec: FunctionSpec<unknown>, provider: ModuleProvider): Undo {
    const problem = nameProblem(spec.id, "function id");
    if (problem !== undefined) throw new TypeError(problem);
    const forget = provider.add(spec);
    const unregister = this.#kernel.registry.register(spec.id as FunctionId, provider, {
      description: spec.summary,
      get requestFormat() {
        return jsonSchemaOf(schemaOf(spec.input));
      },
      get responseFormat() {
        return spec.output === undefined ? undefined : jsonSchemaOf(schemaOf(spec.output));
      },
      metadata: spec.internal === true ? { internal: true } : undefined,
      timeoutMs: undefined,
      // Modules parse their input themselves.
      check: undefined,
    });
    return () => {
      unregister();
      forget();
    };
  }

  #provideTrigger(spec: TriggerSpec<unknown>, provider: ModuleProvider): Undo {
    return this.#kernel.triggers.provideType({
      id: spec.type as TriggerTypeId,
      description: spec.summary,
      get requestFormat() {
        return jsonSchemaOf(spec.settings);
      },
      callRequestFormat: undefined,
      check: undefined,
      provider: {
        workerId: provider.workerId,
        workerName: provider.name,
        builtIn: true,
        principal: TRUSTED,
        attach: (binding) => {
          const settings = spec.settings.safeParse(binding.config ?? {});
          if (!settings.success) {
            const problem = describeIssues(settings.error, {
              whole: "config",
              schema: spec.settings,
              value: binding.config ?? {},
            });
            throw new CallError("trigger_registration_failed", `${spec.type} trigger: ${problem}`);
          }
          const seen: TriggerBinding<unknown> = {
            id: binding.id,
            key: binding.key,
            functionId: binding.functionId,
            settings: settings.data,
            get principal() {
              return binding.principal;
            },
            get isAway() {
              return binding.isAway;
            },
            get ended() {
              return binding.ended;
            },
            get isGivenUp() {
              return binding.isGivenUp;
            },
            onPrincipalChange: (listener) => binding.onPrincipalChange(listener),
            callRefusal: (functionId) => binding.callRefusal(functionId as FunctionId),
            deferRefusal: () => binding.deferRefusal(),
            fire: (payload, options) => binding.fire(payload, options),
            call: (functionId, payload, options) => binding.call(functionId as FunctionId, payload, options),
            passes: (payload, options) => binding.passes(payload, options),
            needs: (functionIds) => binding.needs(functionIds as readonly FunctionId[]),
            report: (problem) => binding.report(problem),
          };
          return spec.bind(seen);
        },
      },
    });
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

function instanceOf(request: ModuleRequest): string {
  return request.instance ?? request.name;
}

function isDeepEqual(a: unknown, b: unknown): boolean {
  return Payload.fromValue(a).text() === Payload.fromValue(b).text();
}
