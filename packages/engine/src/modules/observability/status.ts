import { maskText } from "@svc/protocol";
import { z } from "zod";
import type { Awaitable, ModuleContext } from "../../kernel/module.ts";
import type { Measurement, Telemetry } from "../../kernel/telemetry-contract.ts";
import type { ObservabilityConfig } from "./config.ts";
import type { DropCounts } from "./drop-counts.ts";
import { protocolOf } from "./export/collector.ts";
import type { Export } from "./export/start-export.ts";
import type { Otlp } from "./otlp/start-otlp.ts";

/** What a store holds of its kind, and how much it may. */
export interface StoreFigures {
  readonly stored: number;
  readonly limit: number | null;
  readonly bytes: number;
  readonly max_bytes: number;
  readonly disk_bytes?: number | undefined;
  readonly oldest_ms: number | null;
  /** Of those stored, what a kill of the engine would take: it is on its way to the disk. */
  readonly unwritten: number;
}

export interface StatusParts {
  readonly config: () => ObservabilityConfig;
  readonly drops: Pick<DropCounts, "entries">;
  readonly exports: Pick<Export, "states">;
  readonly otlp: Pick<Otlp, "receivers">;
  readonly metrics: () => { readonly series: number; readonly limit: number };
  /** Undefined where none are kept. */
  readonly spans?: () => Awaitable<StoreFigures | undefined>;
  readonly logs?: () => StoreFigures | undefined;
}

/** `engine::telemetry::status`: where telemetry comes from, what is kept of it, where it is sent, and what was lost on the way. */
export function provideTelemetryStatus({ provideFunction }: Pick<ModuleContext<unknown>, "provideFunction">, parts: StatusParts): void {
  provideFunction({
    id: "engine::telemetry::status",
    summary: "Where telemetry comes from, what is kept of it, where it is sent, and what was dropped",
    input: () => z.looseObject({}),
    async handle() {
      const config = parts.config();
      return {
        service_name: config.service_name,
        exporter: config.exporter,
        endpoint: maskText(config.endpoint),
        protocol: protocolOf(config),
        sampling: { ratio: config.sampling?.default ?? config.sampling_ratio, rules: config.sampling?.rules.length ?? 0 },
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

/** `svc.telemetry.spans`, `svc.telemetry.logs`: how much is stored. */
export function measureStores({ provideMeasurements }: Pick<Telemetry, "provideMeasurements">, parts: Pick<StatusParts, "spans" | "logs">): void {
  const measured = (spans: StoreFigures | undefined): readonly Measurement[] => [
    ...gauge("svc.telemetry.spans", "Spans that are kept", spans),
    ...gauge("svc.telemetry.logs", "Log entries that are kept", parts.logs?.()),
  ];
  provideMeasurements(() => {
    const spans = parts.spans?.();
    return spans instanceof Promise ? spans.then(measured) : measured(spans);
  });
}

function gauge(name: string, description: string, figures: StoreFigures | undefined): readonly Measurement[] {
  return figures === undefined ? [] : [{ name, type: "gauge", description, value: figures.stored }];
}
