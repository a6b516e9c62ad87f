import { defineModule, type Telemetry } from "@svc-runtime/engine/module";
import { type InMemoryEngine, type InMemoryEngineOptions, inMemoryEngine } from "@svc-runtime/engine/testing";
import { CompositeCollector } from "../../composite-collector.ts";
import { type ObservabilityConfig, observabilityConfigSchema } from "../../config.ts";
import type { SpanRecord } from "../../telemetry-records.ts";
import { type ObservedCalls, observeCalls } from "../observe-calls.ts";

export interface ObservedEngine extends InMemoryEngine {
  readonly calls: ObservedCalls;
  /** What was handed on as begun and as ended, in that order. */
  readonly started: readonly SpanRecord[];
  readonly spans: readonly SpanRecord[];
  /** The span of this name that ended last. */
  spanOf(name: string): SpanRecord;
  /** As a module of this name would use it. */
  readonly telemetry: Telemetry;
}

/** A kernel whose calls are observed, with everything that comes of it in lists. */
export async function observedEngine(
  config: Partial<ObservabilityConfig> = {},
  options: InMemoryEngineOptions = {},
): Promise<ObservedEngine> {
  const started: SpanRecord[] = [];
  const spans: SpanRecord[] = [];
  let calls: ObservedCalls | undefined;
  let telemetry: Telemetry | undefined;
  const observer = defineModule<ObservabilityConfig>({
    name: "svc-observability",
    summary: "",
    config: observabilityConfigSchema,
    start(context) {
      const observed = observeCalls(context, {
        sink: { started: keepIn(started), ended: keepIn(spans) },
        resource: { service: context.config.service_name, workerId: undefined, attributes: {} },
      });
      context.telemetry.collect(new CompositeCollector(observed.recorder, { log: () => {}, ingest: () => {} }));
      calls = observed;
      return {
        reconfigure: (next) => observed.reconfigure(next),
        stop: () => observed.stop(),
      };
    },
  });
  const caller = defineModule({
    name: "svc-cron",
    summary: "",
    config: observabilityConfigSchema,
    start(context) {
      telemetry = context.telemetry;
      return { stop: () => {} };
    },
  });
  const engine = await inMemoryEngine({
    ...options,
    modules: [observer, caller, ...(options.modules ?? [])],
    config: { "svc-observability": config, "svc-cron": {}, ...options.config },
  });
  if (calls === undefined || telemetry === undefined) throw new Error("the modules did not start");
  const parts = { calls, started, spans, telemetry };
  return {
    ...engine,
    ...parts,
    spanOf(name) {
      const span = spans.findLast((one) => one.name === name);
      if (span === undefined) throw new Error(`no span ${name} among ${spans.map((one) => one.name).join(", ")}`);
      return span;
    },
  };
}

function keepIn(list: SpanRecord[]): (span: SpanRecord) => void {
  return (span) => {
    span.retain?.();
    list.push(span);
  };
}
