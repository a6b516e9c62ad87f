import { z } from "zod";
import { type Clock, every, systemClock } from "../../../kernel/clock.ts";
import type { ComponentReport, HealthStatus } from "../../../kernel/health-contract.ts";
import type { ModuleContext } from "../../../kernel/module.ts";
import type { ObservabilityConfig } from "../config.ts";
import type { EventLoopLag } from "../event-loop-lag.ts";
import { DiskHealth } from "./disk-health.ts";
import { type LookAtDisk, lookAtDisk, removeLeftProbes } from "./disk-look.ts";

const LOOK_MS = 10_000;

/** Shown whether or not something of the kind is in use. */
const COMPONENTS = ["otel", "metrics", "logs", "spans", "disk", "store", "queues", "adapters", "event_loop"] as const;

const statusSchema = z.enum(["healthy", "degraded", "unhealthy", "disabled"]);
const answer = () =>
  z.object({
    status: statusSchema.exclude(["disabled"]),
    components: z.record(
      z.string(),
      z.object({
        status: statusSchema,
        details: z.string(),
        since_ms: z.number().optional().meta({ description: "First seen with this status, ms since 1970" }),
      }),
    ),
    timestamp: z.number().meta({ description: "ms since 1970" }),
    version: z.string(),
  });

export interface HealthOptions {
  /** The config in force. */
  readonly config: () => ObservabilityConfig;
  /** The owner starts and stops it. */
  readonly lag: Pick<EventLoopLag, "health">;
  readonly lookAtDisk?: LookAtDisk;
  /** Default: the system's, also where the modules live in another time: disks are real. */
  readonly clock?: Clock;
}

/**
 * Reports what no other module does: the disk, the event loop, which signals are on. Asks all components every 10 s, so that changes are logged, and
 * provides `engine::health::check`. Returns how to stop.
 */
export function startHealth(context: ModuleContext<ObservabilityConfig>, options: HealthOptions): () => void {
  const { dataDir, identity, log } = context;
  const clock = options.clock ?? systemClock;
  const disk = new DiskHealth({ folder: dataDir, clock, lookAtDisk: options.lookAtDisk ?? lookAtDisk });
  reportSignals(context, options.config);
  context.reportHealth("disk", () => disk.health());
  context.reportHealth("event_loop", () => options.lag.health());
  context.provideFunction({
    id: "engine::health::check",
    summary: "How the engine and its parts are: which one is unwell, since when, and what to do",
    input: () => z.object({}),
    output: answer,
    async handle() {
      await disk.look();
      return checkOf(context.health(), context.clock.now(), identity.version);
    },
  });
  const look = (): void => {
    // Never rejects; whatever it meets is the disk's health.
    disk.look().then(
      () => context.health(),
      (error: unknown) => log.error("health cannot be looked at", { error }),
    );
  };
  // One of a look that goes on is as good as removed, too.
  void removeLeftProbes(dataDir);
  look();
  return every(clock, LOOK_MS, look);
}

function checkOf(reports: readonly ComponentReport[], timestamp: number, version: string): z.input<ReturnType<typeof answer>> {
  const components: z.input<ReturnType<typeof answer>>["components"] = Object.create(null);
  for (const component of COMPONENTS) components[component] = { status: "disabled", details: "not in use" };
  for (const { component, status, details, sinceMs } of reports) components[component] = { status, details, since_ms: sinceMs };
  const has = (status: HealthStatus): boolean => reports.some((report) => report.status === status);
  return { status: has("unhealthy") ? "unhealthy" : has("degraded") ? "degraded" : "healthy", components, timestamp, version };
}

/** Whether each signal is on. Who keeps or exports them may report worse of the same component. */
function reportSignals({ reportHealth }: ModuleContext<ObservabilityConfig>, config: () => ObservabilityConfig): void {
  const signals: readonly (readonly [string, string, (config: ObservabilityConfig) => boolean])[] = [
    ["spans", "enabled", ({ enabled }) => enabled],
    ["logs", "logs_enabled", ({ enabled, logs_enabled }) => logs_enabled ?? enabled],
    ["metrics", "metrics_enabled", ({ metrics_enabled }) => metrics_enabled],
    [
      "otel",
      "exporter",
      ({ exporter, logs_exporter, metrics_exporter }) => [exporter, logs_exporter, metrics_exporter].some((one) => one === "otlp" || one === "both"),
    ],
  ];
  for (const [component, key, isOn] of signals) {
    reportHealth(component, () =>
      isOn(config()) ? { status: "healthy", details: "on" } : { status: "disabled", details: `off by \`${key}\` of svc-observability` },
    );
  }
}
