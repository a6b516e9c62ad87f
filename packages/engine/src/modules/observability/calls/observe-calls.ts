import { SecretMask } from "@svc/protocol";
import type { ModuleContext } from "../../../kernel/module.ts";
import type { ObservabilityConfig } from "../config.ts";
import type { DropCounter, Resource, SpanSink } from "../model.ts";
import { CallStats } from "./call-stats.ts";
import { InvocationHistory } from "./history.ts";
import { provideInvocations } from "./invocation-functions.ts";
import { WorthwhileSpans } from "./keep-worthwhile.ts";
import { CallRecorder } from "./recorder.ts";
import { keepOptionsOf, provideSamplingRules } from "./sampling-functions.ts";
import { WorkerCounts } from "./worker-counts.ts";

export interface ObservedCalls {
  /** The collector's part for calls and for what modules do. */
  readonly recorder: CallRecorder;
  readonly stats: CallStats;
  readonly workers: WorkerCounts;
  readonly history: InvocationHistory;
  /** For spans from outside: what is sampled and what is worth keeping goes on to the sink. */
  readonly spans: WorthwhileSpans;
  /** As configured now. */
  readonly redactor: () => SecretMask;
  reconfigure(next: ObservabilityConfig): void;
}

/** Sets up what sees the calls. `sink`: takes the spans that are kept. */
export function observeCalls(
  context: ModuleContext<ObservabilityConfig>,
  parts: { readonly sink: SpanSink; readonly drops?: DropCounter | undefined; readonly resource: Resource },
): ObservedCalls & { readonly stop: () => void } {
  let { config } = context;
  let redactor = new SecretMask(config.redact_keys);
  const { clock, directory } = context;
  const stats = new CallStats();
  const workers = new WorkerCounts(directory);
  const history = new InvocationHistory(limitsOf(config));
  const spans = new WorthwhileSpans(parts.sink, { ...keepOptionsOf(config.sampling), now: () => clock.monotonic(), drops: parts.drops });
  const recorder = new CallRecorder({ config, clock, directory, sink: spans, stats, history, resource: parts.resource });
  provideInvocations(context, { history, redactor: () => redactor });
  provideSamplingRules(context, () => config);
  const stop = workers.start();
  return {
    recorder,
    stats,
    workers,
    history,
    spans,
    redactor: () => redactor,
    reconfigure(next) {
      config = next;
      redactor = new SecretMask(next.redact_keys);
      history.configure(limitsOf(next));
      spans.options = keepOptionsOf(next.sampling);
      recorder.configure(next);
    },
    stop,
  };
}

function limitsOf(config: ObservabilityConfig): { readonly maxCount: number; readonly maxBytes: number } {
  return { maxCount: config.enabled ? config.invocations_max_count : 0, maxBytes: config.invocations_max_bytes };
}
