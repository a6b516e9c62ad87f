import { defineModule, type Module } from "@svc-runtime/engine/module";
import { type InMemoryEngine, type InMemoryEngineOptions, inMemoryEngine } from "@svc-runtime/engine/testing";
import { SecretMask } from "@svc-runtime/protocol";
import { type ObservabilityConfig, observabilityConfigSchema } from "../../config.ts";
import type { SpanSink } from "../../telemetry-records.ts";
import { type RunningSpans, startSpans } from "../start-spans.ts";

export interface SpansEngine {
  readonly engine: InMemoryEngine;
  readonly sink: SpanSink;
  readonly drops: Map<string, number>;
}

/** Returns an engine whose only module stores spans, and the sink of that module. */
export async function spansEngine(
  config: Readonly<Record<string, unknown>> = {},
  options: InMemoryEngineOptions = {},
): Promise<SpansEngine> {
  let running: RunningSpans | undefined;
  const drops = new Map<string, number>();
  const module: Module<ObservabilityConfig> = defineModule({
    name: "spans",
    summary: "Spans alone",
    config: observabilityConfigSchema,
    async start(context) {
      const redactor = new SecretMask(context.config.redact_keys);
      running = await startSpans(context, {
        drops: { dropped: (_, reason, count) => void drops.set(reason, (drops.get(reason) ?? 0) + count) },
        redactor: () => redactor,
      });
      const { stop } = running;
      return { stop };
    },
  });
  const engine = await inMemoryEngine({ ...options, modules: [module as Module], config: { spans: config } });
  if (running === undefined) throw new Error("the module did not start");
  return { engine, sink: running.sink, drops };
}
