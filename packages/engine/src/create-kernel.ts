import { randomUUID } from "node:crypto";
import type { FunctionId } from "@svc-runtime/protocol";
import { createQuotas } from "./access/quotas.ts";
import { ReservedIds } from "./access/reserved-ids.ts";
import { Roles } from "./access/roles.ts";
import { WatchedTargets } from "./access/watched-targets.ts";
import { ChannelSockets } from "./kernel/channels/channel-sockets.ts";
import { Channels } from "./kernel/channels/channels.ts";
import type { Clock } from "./kernel/clock.ts";
import { DirectoryChanges } from "./kernel/directory-changes.ts";
import { ExternalFunctions } from "./kernel/external-functions.ts";
import { type FormatChecks, noFormatChecks } from "./kernel/format-check.ts";
import { createDispatch, type HandlerPorts } from "./kernel/handlers/index.ts";
import { HealthBoard } from "./kernel/health-board.ts";
import { Heartbeat } from "./kernel/heartbeat.ts";
import { IdOwnership } from "./kernel/id-ownership.ts";
import { LiveDirectory } from "./kernel/live-directory.ts";
import type { Logger } from "./kernel/logger.ts";
import { type NodeOptions, Nodes } from "./kernel/nodes/nodes.ts";
import { Registry } from "./kernel/registry.ts";
import { Router } from "./kernel/router.ts";
import { Sessions } from "./kernel/sessions.ts";
import { StandbyWorkers } from "./kernel/standby-workers.ts";
import { TelemetryHub } from "./kernel/telemetry.ts";
import { ThrottledLog } from "./kernel/throttled-log.ts";
import { TriggerRegistry } from "./kernel/triggers/trigger-registry.ts";
import { EngineTriggers } from "./kernel/triggers/unowned-triggers.ts";
import { WORKER_LIMITS, type WorkerLimits } from "./kernel/worker-limits.ts";
import { StreamHub } from "./streams/stream-hub.ts";

export interface KernelOptions {
  readonly clock: Clock;
  readonly log: Logger;
  readonly version: string;
  readonly deadlines: HandlerPorts["deadlines"];
  readonly limits?: Partial<WorkerLimits>;
  /** Default: no checks. */
  readonly formats?: FormatChecks;
  /** Makes the engine a node of a cluster. Its `nodes` must be started and stopped. */
  readonly cluster?: NodeOptions | undefined;
}

/** The parts of an engine, for the code that starts it. All other code gets only the parts that it uses. */
export type Kernel = ReturnType<typeof createKernel>;

/** Creates the parts of an engine and connects them. Does not listen, read files or start timers. */
export function createKernel(options: KernelOptions) {
  const { clock, log, deadlines } = options;
  const changes = new DirectoryChanges(log);
  const sessions = new Sessions();
  const watchedTargets = new WatchedTargets();
  const roles = new Roles();
  const limits = { ...WORKER_LIMITS, ...options.limits };
  const quotas = createQuotas(limits);
  const registry = new Registry(quotas.functions, (id, op) => {
    if (op !== "removed") watchedTargets.registered(id);
    changes.emit({ kind: "function", id, op });
    triggers.functionChanged(id);
  });
  const telemetry = new TelemetryHub();
  const router = new Router({ registry, clock, telemetry, defaultTimeoutMs: () => deadlines.defaultTimeoutMs });
  const triggers = new TriggerRegistry({
    host: {
      call: (functionId, payload, callOptions) => router.call(functionId, payload, callOptions),
      functionIsLive: (functionId) => registry.find(functionId) !== undefined,
    },
    clock,
    onTypeChange: (id) => nodes?.typeChanged(id),
    onNeededByTrusted: (id) => ownership.withdrawFromRestricted(id, "decides over a trigger of a trusted worker now"),
    onChange: (binding, op) => {
      changes.emit({ kind: "trigger", id: binding.id, op });
      // The listing of a function contains its triggers, so the function has changed too.
      if (op !== "updated" && registry.find(binding.functionId) !== undefined)
        changes.emit({ kind: "function", id: binding.functionId, op: "updated" });
    },
  });
  const reservedIds = new ReservedIds({
    isNeededByTrusted: (id) => triggers.isNeededByTrusted(id as FunctionId),
    isCalledByTrusted: (id) => triggers.isCalledByTrusted(id as FunctionId),
    restrictedProviderOf: (id) =>
      registry.find(id as FunctionId)?.registrations.find(({ provider }) => !provider.principal.isTrusted)?.provider
        .principal.id,
  });
  const ownership = new IdOwnership({ registry, sessions, triggers, reservedIds, clock });
  const instanceId = randomUUID();
  const streams = new StreamHub({
    clock,
    log,
    epoch: instanceId,
    onChange: (id, op) => changes.emit({ kind: "stream", id, op }),
  });
  const heartbeat = new Heartbeat(clock);
  const handlerPorts: HandlerPorts = {
    router,
    registry,
    triggers,
    sessions,
    externalFunctions: new ExternalFunctions({ sessions, router, maxCallsHeld: limits.maxCallsHeld }),
    ownership,
    watchedTargets,
    quotas,
    limits,
    deadlines,
    formats: options.formats ?? noFormatChecks,
    telemetry,
    changes,
  };
  const startedAtMs = clock.now();
  const channels = new Channels(clock);
  const throttledLog = new ThrottledLog(clock);
  const directory = new LiveDirectory({ registry, sessions, triggers, changes, streams });
  let nodes: Nodes | undefined;
  if (options.cluster !== undefined) {
    const ports = { ...handlerPorts, clock, log, throttledLog, channels };
    const joined = new Nodes({ run: instanceId, startedAtMs }, options.cluster, ports);
    directory.setRemoteWorkers(options.cluster.name, joined);
    nodes = joined;
  }
  return {
    ...handlerPorts,
    dispatch: createDispatch(handlerPorts),
    unownedTriggers: new EngineTriggers({
      triggers,
      sessions,
      registry,
      watchedTargets,
      roles,
      quota: quotas.triggers,
      log,
    }),
    standby: new StandbyWorkers(sessions, triggers),
    reservedIds,
    clock,
    heartbeat,
    channels,
    channelSockets: new ChannelSockets({ clock, heartbeat }),
    streams,
    health: new HealthBoard(clock, log),
    log,
    throttledLog,
    roles,
    identity: { version: options.version, instanceId, startedAtMs },
    directory,
    nodes,
  };
}
