import { randomUUID } from "node:crypto";
import type { FunctionId } from "@svc/protocol";
import { createQuotas } from "./access/quotas.ts";
import { ReservedIds } from "./access/reserved-ids.ts";
import { Roles } from "./access/roles.ts";
import { WatchedTargets } from "./access/watched-targets.ts";
import { Changes } from "./kernel/changes.ts";
import { ChannelSockets } from "./kernel/channels/channel-sockets.ts";
import { Channels } from "./kernel/channels/channels.ts";
import type { Clock } from "./kernel/clock.ts";
import { type FormatChecks, noFormatChecks } from "./kernel/format-check.ts";
import { HealthBoard } from "./kernel/health-board.ts";
import { Heartbeat } from "./kernel/heartbeat.ts";
import { Invocations } from "./kernel/invocations.ts";
import { type Kernel, WORKER_LIMITS, type WorkerLimits } from "./kernel/kernel.ts";
import { LiveDirectory } from "./kernel/live-directory.ts";
import type { Logger } from "./kernel/logger.ts";
import { Registry } from "./kernel/registry.ts";
import { Router } from "./kernel/router.ts";
import { Sessions } from "./kernel/sessions.ts";
import { withdrawFromRestricted } from "./kernel/settle-principal.ts";
import { TelemetryHub } from "./kernel/telemetry.ts";
import { ThrottledLog } from "./kernel/throttled-log.ts";
import { TriggerRegistry } from "./kernel/trigger-registry.ts";
import { EngineTriggers } from "./kernel/unowned-triggers.ts";
import { StreamHub } from "./streams/hub.ts";

export interface KernelOptions {
  readonly clock: Clock;
  readonly log: Logger;
  readonly version: string;
  /** In milliseconds. Read at each call. */
  readonly deadlines: Kernel["deadlines"];
  readonly limits?: Partial<WorkerLimits>;
  /** Default: no checks. */
  readonly formats?: FormatChecks;
}

/** Creates the kernel and connects its parts. Does not listen, read files or start timers. */
export function createKernel(options: KernelOptions): { readonly kernel: Kernel; readonly directory: LiveDirectory } {
  const { clock, log, deadlines } = options;
  const changes = new Changes(log);
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
    onNeededByTrusted: (id) =>
      withdrawFromRestricted(
        id,
        { registry, sessions, triggers, reservedIds },
        "decides over a trigger of a trusted worker now",
      ),
    onChange: (binding, op) => {
      changes.emit({ kind: "trigger", id: binding.id, op });
      // A function's listing names its triggers.
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
  const heartbeat = new Heartbeat(clock);
  const instanceId = randomUUID();
  const streams = new StreamHub({
    clock,
    log,
    epoch: instanceId,
    onChange: (id, op) => changes.emit({ kind: "stream", id, op }),
  });
  const kernel: Kernel = {
    registry,
    router,
    triggers,
    unownedTriggers: new EngineTriggers({
      triggers,
      sessions,
      registry,
      watchedTargets,
      roles,
      quota: quotas.triggers,
      log,
    }),
    sessions,
    invocations: new Invocations(),
    heartbeat,
    changes,
    channels: new Channels(clock),
    channelSockets: new ChannelSockets({ clock, heartbeat }),
    streams,
    telemetry,
    health: new HealthBoard(clock, log),
    clock,
    log,
    throttledLog: new ThrottledLog(clock),
    limits,
    quotas,
    reservedIds,
    watchedTargets,
    roles,
    identity: { version: options.version, instanceId, startedAtMs: clock.now() },
    formats: options.formats ?? noFormatChecks,
    deadlines,
  };
  return { kernel, directory: new LiveDirectory({ registry, sessions, triggers, changes, streams }) };
}
