import type { ModuleContext, RunningModule } from "../../kernel/module.ts";
import type { Attributes } from "../../kernel/telemetry-contract.ts";
import { observeCalls } from "./calls/observe-calls.ts";
import { JoinedCollector } from "./collector.ts";
import type { ObservabilityConfig } from "./config.ts";
import type { Resource } from "./model.ts";
import { SpanFanOut } from "./span-fan-out.ts";
import { spanSettings, startSpans } from "./spans/start-spans.ts";

/** Joins the parts of the module. */
export async function startObservability(context: ModuleContext<ObservabilityConfig>): Promise<RunningModule<ObservabilityConfig>> {
  const resource = engineResource(context.config);
  const spanSinks = new SpanFanOut();
  // Before anything is told, so that no span is missed.
  const spans = await startSpans(context, { dropped: () => {} });
  spanSinks.add(spans.sink);
  const calls = observeCalls(context, { sink: spanSinks, resource });
  context.telemetry.collect(new JoinedCollector(calls.recorder, { log: () => {}, ingest: () => {} }));
  return {
    reconfigure(next) {
      if (engineNames(next) !== engineNames(context.config) || spanSettings(next) !== spanSettings(context.config)) return "restart";
      calls.reconfigure(next);
    },
    async stop() {
      calls.stop();
      await spans.stop();
    },
  };
}

/** The engine as the one who produces spans. */
function engineResource({ service_name, service_version, service_namespace }: ObservabilityConfig): Resource {
  const attributes: Record<string, string> = {};
  if (service_version !== undefined) attributes["service.version"] = service_version;
  if (service_namespace !== undefined) attributes["service.namespace"] = service_namespace;
  return { service: service_name, workerId: undefined, attributes: attributes satisfies Attributes };
}

function engineNames({ service_name, service_version, service_namespace }: ObservabilityConfig): string {
  return JSON.stringify([service_name, service_version, service_namespace]);
}
