import {
  type Clock,
  type ComponentReport,
  every,
  type HealthStatus,
  type ModuleContext,
  systemClock,
} from "@svc-runtime/engine/module";
import { z } from "zod";
import type { ObservabilityConfig } from "../config.ts";
import type { EventLoopLag } from "../event-loop-lag.ts";
import { DiskHealth } from "./disk-health.ts";
import { type ProbeDisk, probeDisk, removeStaleProbes } from "./disk-probe.ts";

const PROBE_MS = 10_000;

/** Components that are always listed, even if they are not in use. */
const COMPONENTS = ["otel", "metrics", "logs", "spans", "disk", "store", "queues", "adapters", "event_loop"] as const;

const statusSchema = z.enum(["healthy", "degraded", "unhealthy", "disabled"]);
const checkSchema = () =>
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
  readonly config: () => ObservabilityConfig;
  /** The event loop's lag. The caller of `startHealth` starts and stops the measurement. */
  readonly lag: Pick<EventLoopLag, "health">;
  readonly probeDisk?: ProbeDisk;
  /**
   * Clock for disk probes. Defaults to the system clock, even if the modules have another clock, because disks work in
   * real time.
   */
  readonly clock?: Clock;
}

/**
 * Reports the health of the disk and the event loop, and which signals are on. Checks all components every 10 s, so
 * that changes are logged. Provides `engine::health::check`. Returns a function that stops the checks.
 */
export function startHealth(context: ModuleContext<ObservabilityConfig>, options: HealthOptions): () => void {
  const { dataDir, identity, log } = context;
  const clock = options.clock ?? systemClock;
  const disk = new DiskHealth({ folder: dataDir, clock, probeDisk: options.probeDisk ?? probeDisk });
  reportSignals(context, options.config);
  context.reportHealth("disk", () => disk.health());
  context.reportHealth("event_loop", () => options.lag.health());
  context.provideFunction({
    id: "engine::health::check",
    summary: "Health of the engine and its components: which one has a problem, since when, and what to do",
    input: () => z.object({}),
    output: checkSchema,
    async handle() {
      await disk.probe();
      return checkOf(context.health(), context.clock.now(), identity.version);
    },
  });
  const probe = (): void => {
    // `probe` never rejects, because it stores a failure as the disk's health.
    disk.probe().then(
      () => context.health(),
      (error: unknown) => log.error("health check failed", { error }),
    );
  };
  // This may remove the file of the probe that starts next. That does no harm.
  void removeStaleProbes(dataDir);
  probe();
  return every(clock, PROBE_MS, probe);
}

function checkOf(
  reports: readonly ComponentReport[],
  timestamp: number,
  version: string,
): z.input<ReturnType<typeof checkSchema>> {
  const components: z.input<ReturnType<typeof checkSchema>>["components"] = Object.create(null);
  for (const component of COMPONENTS) components[component] = { status: "disabled", details: "not in use" };
  for (const { component, status, details, sinceMs } of reports)
    components[component] = { status, details, since_ms: sinceMs };
  const has = (status: HealthStatus): boolean => reports.some((report) => report.status === status);
  return {
    status: has("unhealthy") ? "unhealthy" : has("degraded") ? "degraded" : "healthy",
    components,
    timestamp,
    version,
  };
}

/**
 * Reports which signals are on. The stores and exporters of a signal may report a worse status for the same component.
 */
function reportSignals({ reportHealth }: ModuleContext<ObservabilityConfig>, config: () => ObservabilityConfig): void {
  const signals: readonly (readonly [string, string, (config: ObservabilityConfig) => boolean])[] = [
    ["spans", "enabled", ({ enabled }) => enabled],
    ["logs", "logs_enabled", ({ enabled, logs_enabled }) => logs_enabled ?? enabled],
    ["metrics", "metrics_enabled", ({ metrics_enabled }) => metrics_enabled],
    [
      "otel",
      "exporter",
      ({ exporter, logs_exporter, metrics_exporter }) =>
        [exporter, logs_exporter, metrics_exporter].some((one) => one === "otlp" || one === "both"),
    ],
  ];
  for (const [component, key, isOn] of signals) {
    reportHealth(component, () =>
      isOn(config())
        ? { status: "healthy", details: "on" }
        : { status: "disabled", details: `off by \`${key}\` of svc-observability` },
    );
  }
}
