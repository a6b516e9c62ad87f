import { type FunctionId, nameProblem, type TriggerTypeId } from "@svc-runtime/protocol";
import { TRUSTED } from "../access/principal.ts";
import type { ReservedIds } from "../access/reserved-ids.ts";
import type { Roles } from "../access/roles.ts";
import { callerAccess } from "./caller-access.ts";
import { type ChannelPorts, createChannel } from "./channels/create-channel.ts";
import { resolveChannels } from "./channels/resolve-channels.ts";
import { takeChannelReader } from "./channels/take-channel-reader.ts";
import type { Clock } from "./clock.ts";
import type { Directory } from "./directory.ts";
import type { ExternalFunctions } from "./external-functions.ts";
import type { HealthBoard } from "./health-board.ts";
import { jsonSchemaOf, schemaOf } from "./lazy-schema.ts";
import type { Logger } from "./logger.ts";
import {
  type FunctionSpec,
  type HttpMount,
  type ListenOptions,
  type ModuleContext,
  type ModuleListener,
  type OutboundRules,
  STRICT_OUTBOUND_RULES,
  type TriggerBinding,
  type TriggerSpec,
  type UnownedTriggers,
} from "./module.ts";
import type { ModuleProvider, ModuleProviderPorts } from "./module-provider.ts";
import { moduleStreams } from "./module-streams.ts";
import type { NodeQuestions } from "./nodes-contract.ts";
import type { Registry } from "./registry.ts";
import type { Scope, Undo } from "./scope.ts";
import type { OpenStore } from "./store-contract.ts";
import type { Streams } from "./stream-contract.ts";
import type { TelemetryHub } from "./telemetry.ts";
import type { ThrottledLog } from "./throttled-log.ts";
import { configRefusal, parseTriggerConfig, withDescriptionMember } from "./triggers/trigger-config.ts";
import type { TriggerRegistry } from "./triggers/trigger-registry.ts";

/** The listener functions that modules use. */
export interface MountPoints {
  mountHttp(mount: HttpMount): Undo;
  listen(options: ListenOptions): Promise<ModuleListener>;
  reportReadiness(problem: () => string | undefined): Undo;
}

/** The parts of the kernel that modules use through their contexts. */
export interface ContextPorts extends ModuleProviderPorts, ChannelPorts {
  readonly log: Logger;
  readonly throttledLog: ThrottledLog;
  readonly triggers: TriggerRegistry;
  readonly unownedTriggers: UnownedTriggers;
  readonly reservedIds: ReservedIds;
  readonly roles: Roles;
  readonly externalFunctions: ExternalFunctions;
  readonly streams: Streams;
  readonly telemetry: TelemetryHub;
  readonly health: HealthBoard;
  readonly nodes: { readonly questions: NodeQuestions } | undefined;
  readonly identity: { readonly version: string; readonly instanceId: string };
}

/** The surroundings of all modules of an engine. */
export interface ModuleEnvironment {
  readonly directory: Directory;
  readonly mounts: MountPoints;
  readonly dataDir: string;
  readonly openStore: OpenStore;
  /** See `ModuleContext.production`. */
  readonly production: () => boolean;
  /** See `ModuleContext.outboundRules`. Default: strict. */
  readonly outboundRules?: () => OutboundRules;
}

/** The parts of one running module. */
interface ModuleParts {
  readonly config: unknown;
  readonly scope: Scope;
  readonly signal: AbortSignal;
  readonly provider: ModuleProvider;
  readonly log: Logger;
  readonly clock: Clock;
}

const strictRules = (): OutboundRules => STRICT_OUTBOUND_RULES;

/** Creates the contexts of modules. */
export class ModuleContexts {
  readonly #ports: ContextPorts;
  readonly #environment: ModuleEnvironment;
  readonly #startingWorkers = new Set<() => readonly string[]>();
  readonly #draining = new AbortController();

  constructor(ports: ContextPorts, environment: ModuleEnvironment) {
    this.#ports = ports;
    this.#environment = environment;
  }

  /** Notifies the modules that the engine begins to shut down. */
  startDraining(): void {
    this.#draining.abort();
  }

  create({ config, scope, signal, provider, log, clock }: ModuleParts): ModuleContext<unknown> {
    const ports = this.#ports;
    const { directory, mounts, dataDir, openStore, production, outboundRules = strictRules } = this.#environment;
    const caller = { worker_id: provider.workerId, name: provider.name };
    return {
      config,
      log,
      clock,
      signal,
      draining: this.#draining.signal,
      identity: ports.identity,
      get outboundRules() {
        return outboundRules();
      },
      dataDir,
      openStore: (options) => openStore({ log, clock, ...options }),
      get production() {
        return production();
      },
      directory,
      providerOf: (functionId) => ports.registry.find(functionId as FunctionId)?.registrations[0]?.provider.principal,
      call: (functionId, payload, options = {}) =>
        ports.router.call(functionId as FunctionId, payload, {
          ...options,
          caller,
          // Calls of modules are accepted while the engine drains, because modules then only finish accepted work.
          whileDraining: true,
        }),
      provideFunction: (spec) => scope.add(provideFunction(spec as FunctionSpec<unknown>, provider, ports.registry)),
      provideTrigger: (spec) => scope.add(provideTrigger(spec as TriggerSpec<unknown>, provider, ports)),
      reserveFunction: (functionId) => scope.add(ports.reservedIds.name(functionId)),
      rememberFunction(functionId, caller) {
        if (caller === undefined || ports.sessions.byId(caller.worker_id)?.principal.isTrusted === true)
          ports.reservedIds.rememberCalled(functionId);
      },
      runInvocations: (runner) => scope.add(ports.externalFunctions.provide(runner)),
      createChannel: (options) => createChannel(options ?? {}, scope, ports),
      takeChannelReader: (ref) => takeChannelReader(ref, ports.channels, scope),
      resolveChannels: (find) => resolveChannels(find, ports.channels, scope),
      newChannelId: () => ports.channels.newId(),
      nodes: questionsIn(scope, ports.nodes?.questions),
      unownedTriggers: ports.unownedTriggers,
      isRoleInForce: (role) => ports.roles.isInForce(role),
      accessOf: (workerId) => callerAccess(workerId, ports),
      mountHttp: (mount) => scope.add(mounts.mountHttp(mount)),
      listen: async (options) => {
        const listener = await mounts.listen(options);
        const close = scope.add(() => listener.close());
        return {
          get port() {
            return listener.port;
          },
          close,
        };
      },
      streams: moduleStreams(ports.streams, scope),
      telemetry: {
        startSpan: (span) => ports.telemetry.startSpan(span, provider.name),
        log: (entry) => ports.telemetry.log(entry),
        provideMeasurements: (measure) => scope.add(ports.telemetry.provideMeasurements(measure)),
        get measures() {
          return ports.telemetry.measures;
        },
        provideWorkerMetrics: (read) => scope.add(ports.telemetry.provideWorkerMetrics(read)),
        workerMetrics: (workerId) => ports.telemetry.workerMetrics(workerId),
        collect: (collector) => scope.add(ports.telemetry.collect(collector)),
      },
      reportReadiness: (problem) => scope.add(mounts.reportReadiness(problem)),
      reportStartingWorkers: (names) => {
        this.#startingWorkers.add(names);
        return scope.add(() => this.#startingWorkers.delete(names));
      },
      startingWorkers: () => [...this.#startingWorkers].flatMap((names) => names()),
      reportHealth: (component, probe) => scope.add(ports.health.report(component, provider.name, probe)),
      health: () => ports.health.read(),
    };
  }
}

function questionsIn(scope: Scope, questions: NodeQuestions | undefined): NodeQuestions | undefined {
  if (questions === undefined) return undefined;
  return {
    name: questions.name,
    clockState: () => questions.clockState(),
    answer: (topic, answer) => scope.add(questions.answer(topic, answer)),
    ask: (topic, question, options) => questions.ask(topic, question, options),
  };
}

function provideFunction(spec: FunctionSpec<unknown>, provider: ModuleProvider, registry: Registry): Undo {
  const problem = nameProblem(spec.id, "function id");
  if (problem !== undefined) throw new TypeError(problem);
  const forget = provider.add(spec);
  const unregister = registry.register(spec.id as FunctionId, provider, {
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

function provideTrigger(
  spec: TriggerSpec<unknown>,
  provider: ModuleProvider,
  { triggers, throttledLog, log }: Pick<ContextPorts, "triggers" | "throttledLog" | "log">,
): Undo {
  return triggers.provideType({
    id: spec.type as TriggerTypeId,
    description: spec.summary,
    get requestFormat() {
      return withDescriptionMember(jsonSchemaOf(spec.settings));
    },
    callRequestFormat: undefined,
    check: undefined,
    provider: {
      workerId: provider.workerId,
      workerName: provider.name,
      builtIn: true,
      onEveryNode: spec.onEveryNode === true,
      principal: TRUSTED,
      attach: (binding) => {
        const { settings, ignored } = parseTriggerConfig(binding.config, {
          type: spec.type,
          schema: spec.settings,
          ignoresUnknown: binding.ignoresUnknown,
        });
        if (ignored !== undefined) {
          binding.strictRefusal = configRefusal(spec.type, ignored);
          throttledLog.warn(log, binding.lastPrincipal.id, "unknown members in the config of a trigger were ignored", {
            trigger_type: spec.type,
            function_id: binding.functionId,
            problem: ignored,
          });
        }
        const seen: TriggerBinding<unknown> = {
          id: binding.id,
          key: binding.key,
          functionId: binding.functionId,
          settings,
          get principal() {
            return binding.principal;
          },
          get isAway() {
            return binding.isAway;
          },
          get awaitsOwner() {
            return binding.awaitsOwner;
          },
          get isElsewhere() {
            return binding.isElsewhere;
          },
          get ended() {
            return binding.ended;
          },
          get isGivenUp() {
            return binding.isGivenUp;
          },
          onPrincipalChange: (listener) => binding.onPrincipalChange(listener),
          onAwayChange: (listener) => binding.onAwayChange(listener),
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
