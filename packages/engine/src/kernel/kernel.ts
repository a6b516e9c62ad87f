import type { Quotas } from "../access/quotas.ts";
import type { ReservedIds } from "../access/reserved-ids.ts";
import type { Roles } from "../access/roles.ts";
import type { WatchedTargets } from "../access/watched-targets.ts";
import type { StreamHub } from "../streams/hub.ts";
import type { Changes } from "./changes.ts";
import type { ChannelSockets } from "./channels/channel-sockets.ts";
import type { Channels } from "./channels/channels.ts";
import type { Clock } from "./clock.ts";
import type { FormatChecks } from "./format-check.ts";
import type { HealthBoard } from "./health-board.ts";
import type { Heartbeat } from "./heartbeat.ts";
import type { Invocations } from "./invocations.ts";
import type { Logger } from "./logger.ts";
import type { Registry } from "./registry.ts";
import type { Router } from "./router.ts";
import type { Sessions } from "./sessions.ts";
import type { TelemetryHub } from "./telemetry.ts";
import type { ThrottledLog } from "./throttled-log.ts";
import type { TriggerRegistry } from "./trigger-registry.ts";
import type { EngineTriggers } from "./unowned-triggers.ts";

/** Limits of one worker connection. */
export interface WorkerLimits {
  readonly maxFunctions: number;
  readonly maxTriggers: number;
  readonly maxTriggerTypes: number;
  /** Calls that one connection has made and whose result is pending. */
  readonly maxCallsInFlight: number;
  /** Calls delivered to one connection whose result is pending. */
  readonly maxCallsHeld: number;
}

export const WORKER_LIMITS: WorkerLimits = {
  maxFunctions: 10_000,
  maxTriggers: 10_000,
  maxTriggerTypes: 1_000,
  maxCallsInFlight: 10_000,
  maxCallsHeld: 10_000,
};

/** The parts that message handlers use. */
export interface Kernel {
  readonly registry: Registry;
  readonly router: Router;
  readonly triggers: TriggerRegistry;
  readonly unownedTriggers: EngineTriggers;
  readonly sessions: Sessions;
  readonly invocations: Invocations;
  readonly heartbeat: Heartbeat;
  readonly changes: Changes;
  readonly channels: Channels;
  readonly channelSockets: ChannelSockets;
  readonly streams: StreamHub;
  readonly telemetry: TelemetryHub;
  readonly health: HealthBoard;
  readonly clock: Clock;
  readonly log: Logger;
  /** For warnings that a client can cause. */
  readonly throttledLog: ThrottledLog;
  readonly limits: WorkerLimits;
  readonly quotas: Quotas;
  readonly formats: FormatChecks;
  /** Ids that restricted connections may not register. */
  readonly reservedIds: ReservedIds;
  readonly watchedTargets: WatchedTargets;
  readonly roles: Roles;
  readonly identity: { readonly version: string; readonly instanceId: string; readonly startedAtMs: number };
  /** In milliseconds. Read at each call, since the config may change. */
  readonly deadlines: { readonly defaultTimeoutMs: number; readonly legacyCallTimeoutMs: number };
}
