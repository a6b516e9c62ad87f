import { dirname, isAbsolute, join, resolve } from "node:path";
import type { ModuleContext } from "../../../kernel/module.ts";
import { Redactor } from "../calls/redact.ts";
import type { ObservabilityConfig } from "../config.ts";
import type { DropCounter, SpanRecord, SpanSink } from "../model.ts";
import { provideTraces } from "./functions/provide-traces.ts";
import { MemorySpanStore } from "./memory/memory-span-store.ts";
import type { SpanStore } from "./span-store.ts";
import { provideTraceStream } from "./trace-stream.ts";
import { TraceTriggers } from "./trace-trigger.ts";

const DEFAULT_KEEP_SLOW_MS = 1_000;

export interface RunningSpans {
  /** Takes every span; does nothing where spans are not kept. */
  readonly sink: SpanSink;
  /** Undefined where spans are only sent elsewhere. */
  readonly store: SpanStore | undefined;
  stop(): Promise<void>;
}

/** Keeps spans as the config says and answers for them: `engine::traces::*`, the stream `svc.traces`, the trigger type `trace`. */
export async function startSpans(context: ModuleContext<ObservabilityConfig>, drops: DropCounter): Promise<RunningSpans> {
  const store = await storeOf(context, drops);
  provideTraces(context, store);
  if (store === undefined) return { sink: { started: () => {}, ended: () => {} }, store, stop: async () => {} };
  const feed = provideTraceStream(context, store);
  const triggers = new TraceTriggers(context, store);
  const changed = (span: SpanRecord): void => {
    feed.changed(span);
    triggers.changed(span);
  };
  return {
    store,
    sink: {
      started(span) {
        store.started(span);
        feed.changed(span);
      },
      ended(span) {
        store.ended(span);
        changed(span);
      },
    },
    async stop() {
      feed.stop();
      triggers.stop();
      await store.close();
    },
  };
}

async function storeOf(context: ModuleContext<ObservabilityConfig>, drops: DropCounter): Promise<SpanStore | undefined> {
  const { config } = context;
  if (config.exporter === "otlp") return undefined;
  const redactor = new Redactor(config.redact_keys);
  if (config.trace_storage?.enabled === true) {
    const { directory, max_disk_bytes: maxBytes, retention_seconds } = config.trace_storage;
    const { DiskSpanStore } = await import("./disk/disk-span-store.ts");
    const file = join(folderOf(directory, context.dataDir), "spans.db");
    return new DiskSpanStore({ file, maxBytes, retentionMs: 1_000 * retention_seconds, log: context.log, clock: context.clock, drops, redactor });
  }
  const keepSlowMs = config.sampling?.keep_slow_ms ?? DEFAULT_KEEP_SLOW_MS;
  return new MemorySpanStore({ maxSpans: config.memory_max_spans, maxBytes: config.memory_max_bytes, keepSlowMs }, { drops, redactor });
}

/** Other folders are relative to the config file, beside which `.svc/data` lies. */
function folderOf(directory: string | undefined, dataDir: string): string {
  if (directory === undefined) return join(dataDir, "observability");
  return isAbsolute(directory) ? directory : resolve(dirname(dirname(dataDir)), directory);
}

/** Equal while spans can be kept as they are: what else they depend on needs a new start. */
export function spanSettings({ exporter, trace_storage, memory_max_spans, memory_max_bytes, redact_keys, sampling }: ObservabilityConfig): string {
  return JSON.stringify([exporter, trace_storage, memory_max_spans, memory_max_bytes, redact_keys, sampling?.keep_slow_ms]);
}
