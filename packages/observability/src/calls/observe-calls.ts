import type { ModuleContext } from "@svc-runtime/engine/module";
import { SecretMask } from "@svc-runtime/protocol";
import type { ObservabilityConfig } from "../config.ts";
import type { SpanStore } from "../spans/span-store.ts";
import type { DropCounter, Resource, SpanSink } from "../telemetry-records.ts";
import { CallStats } from "./call-stats.ts";
import { provideInvocations } from "./invocation-functions.ts";
import { InvocationHistory } from "./invocation-history.ts";
import { CallRecorder } from "./recorder.ts";
import { keepOptionsOf, provideSamplingRules } from "./sampling-functions.ts";
import { TailSampler } from "./tail-sampler.ts";
import { WorkerCalls } from "./worker-calls.ts";
import { WorkerCounts } from "./worker-counts.ts";

export interface ObservedCalls {
  readonly recorder: CallRecorder;
  readonly stats: CallStats;
  readonly workers: WorkerCounts;
  readonly workerCalls: WorkerCalls;
  readonly history: InvocationHistory;
  /**
   * Takes spans that workers send. Forwards a span to the sink if it is sampled or if its trace has an error or a slow
   * span.
   */
  readonly spans: TailSampler;
  /** Returns the secret mask of the current config. */
  readonly redactor: () => SecretMask;
  reconfigure(next: ObservabilityConfig): void;
}

/** Sets up the recording of calls. `sink` takes the spans that are kept. */
export function observeCalls(
  context: ModuleContext<ObservabilityConfig>,
  parts: {
    readonly sink: SpanSink;
    readonly drops?: DropCounter | undefined;
    readonly resource: Resource;
    /** The stored spans, once they are opened. */
    readonly storedSpans?: () => SpanStore | undefined;
  },
): ObservedCalls & { readonly stop: () => void } {
  let { config } = context;
  let redactor = new SecretMask(config.redact_keys);
  const { clock, directory } = context;
  const stats = new CallStats();
  const workers = new WorkerCounts(directory);
  const workerCalls = new WorkerCalls(
    (id) => directory.workerById(id)?.status === "connected",
    () => clock.monotonic(),
  );
  const history = new InvocationHistory(limitsOf(config));
  const spans = new TailSampler(parts.sink, {
    ...keepOptionsOf(config.sampling),
    now: () => clock.monotonic(),
    drops: parts.drops,
  });
  const recorder = new CallRecorder({
    config,
    clock,
    directory,
    sink: spans,
    stats,
    workerCalls,
    history,
    resource: parts.resource,
  });
  provideInvocations(context, {
    history,
    redactor: () => redactor,
    now: () => context.clock.now(),
    spans: () => parts.storedSpans?.(),
  });
  provideSamplingRules(context, () => config);
  const stop = workers.start();
  return {
    recorder,
    stats,
    workers,
    workerCalls,
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
