import type { Awaitable, Measurement, ModuleContext, Telemetry } from "@svc-runtime/engine/module";
import { maskText } from "@svc-runtime/protocol";
import { z } from "zod";
import type { ObservabilityConfig } from "./config.ts";
import type { DropCounts } from "./drop-counts.ts";
import { protocolOf } from "./export/collector-address.ts";
import type { Export } from "./export/start-export.ts";
import type { Otlp } from "./otlp/start-otlp.ts";

export interface StoreStats {
  readonly stored: number;
  readonly limit: number | null;
  readonly bytes: number;
  readonly max_bytes: number;
  readonly disk_bytes?: number | undefined;
  readonly oldest_ms: number | null;
  /**
   * Only for spans: time since which all are stored. Older ones belong to failed or slow traces only. Null if none was
   * evicted.
   */
  readonly complete_since_ms?: number | null;
  /** Number of stored records that are not on disk yet. They would be lost if the engine were killed. */
  readonly unwritten: number;
}

export interface StatusParts {
  readonly config: () => ObservabilityConfig;
  readonly drops: Pick<DropCounts, "entries">;
  readonly exports: Pick<Export, "states">;
  readonly otlp: Pick<Otlp, "receivers">;
  readonly metrics: () => { readonly series: number; readonly limit: number };
  /** Undefined if spans are not stored. */
  readonly spans?: () => Awaitable<StoreStats | undefined>;
  readonly logs?: () => StoreStats | undefined;
}

/**
 * Provides `engine::telemetry::status`, which shows the sources of telemetry, what is stored and exported, and what was
 * dropped.
 */
export function provideTelemetryStatus(
  { provideFunction }: Pick<ModuleContext<unknown>, "provideFunction">,
  parts: StatusParts,
): void {
  provideFunction({
    id: "engine::telemetry::status",
    summary: "Where telemetry comes from, how much is stored, where it is sent, and what was dropped",
    input: () => z.looseObject({}),
    async handle() {
      const config = parts.config();
      return {
        service_name: config.service_name,
        exporter: config.exporter,
        endpoint: maskText(config.endpoint),
        protocol: protocolOf(config),
        sampling: {
          ratio: config.sampling?.default ?? config.sampling_ratio,
          rules: config.sampling?.rules.length ?? 0,
        },
        spans: (await parts.spans?.()) ?? null,
        logs: parts.logs?.() ?? null,
        metrics: parts.metrics(),
        dropped: parts.drops.entries(),
        exporters: parts.exports.states(),
        receivers: parts.otlp.receivers(),
      };
    },
  });
}

/** Measures the number of stored records: `svc.telemetry.spans` and `svc.telemetry.logs`. */
export function measureStores(
  { provideMeasurements }: Pick<Telemetry, "provideMeasurements">,
  parts: Pick<StatusParts, "spans" | "logs">,
): void {
  const measured = (spans: StoreStats | undefined): readonly Measurement[] => [
    ...gauge("svc.telemetry.spans", "Stored spans", spans),
    ...gauge("svc.telemetry.logs", "Stored log entries", parts.logs?.()),
  ];
  provideMeasurements(() => {
    const spans = parts.spans?.();
    return spans instanceof Promise ? spans.then(measured) : measured(spans);
  });
}

function gauge(name: string, description: string, stats: StoreStats | undefined): readonly Measurement[] {
  return stats === undefined ? [] : [{ name, type: "gauge", description, value: stats.stored }];
}
