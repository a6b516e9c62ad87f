import { existsSync } from "node:fs";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { type ModuleContext, systemClock } from "@svc-runtime/engine/module";
import type { SecretMask } from "@svc-runtime/protocol";
import { keepOptionsOf } from "../calls/sampling-functions.ts";
import { type ObservabilityConfig, SPANS_SHARE, storageFolder } from "../config.ts";
import type { DropCounter, SpanRecord, SpanSink } from "../telemetry-records.ts";
import type { DiskSpanLimits } from "./disk/disk-span-store.ts";
import { provideTraces } from "./functions/provide-traces.ts";
import { type MemoryLimits, MemorySpanStore } from "./memory/memory-span-store.ts";
import type { SpanReader, SpanStore } from "./span-store.ts";
import { provideTraceStream } from "./trace-stream.ts";
import { TraceTriggers } from "./trace-trigger.ts";

export interface RunningSpans {
  /** Takes all spans. Does nothing if spans are not stored. */
  readonly sink: SpanSink;
  /** Undefined if spans are only exported. */
  readonly store: SpanStore | undefined;
  reconfigure(next: ObservabilityConfig): "restart" | undefined;
  stop(): Promise<void>;
}

export interface SpansParts {
  readonly drops: DropCounter;
  /** Returns the secret mask of the current config. */
  readonly redactor: () => SecretMask;
}

/** Stores spans as configured. Provides `engine::traces::*`, the stream `svc.traces` and the trigger type `trace`. */
export async function startSpans(
  context: ModuleContext<ObservabilityConfig>,
  parts: SpansParts,
): Promise<RunningSpans> {
  const opened = await openSpanStore(context, parts);
  const store = opened?.store;
  let { config } = context;
  const reconfigure = (next: ObservabilityConfig): "restart" | undefined => {
    if (!isDeepStrictEqual(storageOf(config), storageOf(next))) return "restart";
    config = next;
    opened?.setLimits(next);
    return undefined;
  };
  const read = await spanReader(context, store);
  provideTraces(context, { store, read }, parts.drops);
  if (store === undefined)
    return { sink: { started: () => {}, ended: () => {} }, store, reconfigure, stop: async () => {} };
  const feed = provideTraceStream(context, () => read(store));
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
    reconfigure,
    async stop() {
      feed.stop();
      triggers.stop();
      await store.close();
    },
  };
}

/**
 * In a cluster, answers questions of other nodes. Returns a function that creates a reader for one request, which reads
 * the spans of all nodes.
 */
async function spanReader(
  { nodes, clock }: ModuleContext<ObservabilityConfig>,
  store: SpanStore | undefined,
): Promise<(store: SpanStore) => SpanReader> {
  if (nodes === undefined) return (own) => own;
  const [{ answerSpanQuestions }, { MergedSpans }] = await Promise.all([
    import("./nodes/answer-span-questions.ts"),
    import("./nodes/merged-spans.ts"),
  ]);
  answerSpanQuestions(nodes, store);
  return ({ storage }) => new MergedSpans(nodes, storage, clock);
}

interface OpenedStore {
  readonly store: SpanStore;
  readonly setLimits: (config: ObservabilityConfig) => void;
}

/** Opens the store. Returns undefined if spans are only exported. */
async function openSpanStore(
  context: ModuleContext<ObservabilityConfig>,
  { drops, redactor }: SpansParts,
): Promise<OpenedStore | undefined> {
  const { config, log, clock, openStore } = context;
  if (config.exporter === "otlp") return undefined;
  const file = join(storageFolder(config.trace_storage ?? {}, context.dataDir), "spans.db");
  const disk = { file, log, drops, openStore, redactor };
  if (config.trace_storage?.enabled === true) {
    const { DiskSpanStore } = await import("./disk/disk-span-store.ts");
    const store = new DiskSpanStore({ ...disk, clock, limits: diskLimits(config.trace_storage, config) });
    return {
      store,
      setLimits: (next) => next.trace_storage !== undefined && store.setLimits(diskLimits(next.trace_storage, next)),
    };
  }
  const memory = new MemorySpanStore(memoryLimits(config), { drops, redactor });
  if (config.trace_storage?.enabled === false)
    return { store: memory, setLimits: (next) => memory.setLimits(memoryLimits(next)) };
  const [{ ArchivedSpans }, { DiskSpanStore }] = await Promise.all([
    import("./archived-spans.ts"),
    import("./disk/disk-span-store.ts"),
  ]);
  const copy = new DiskSpanStore({
    ...disk,
    // Uses the system clock even if the modules have another clock, because disks work in real time.
    clock: systemClock,
    limits: diskLimits(COPY, config),
    opens: "when needed",
  });
  return {
    store: new ArchivedSpans({ memory, disk: copy, hasEarlier: existsSync(file), clock: systemClock, drops }),
    setLimits(next) {
      memory.setLimits(memoryLimits(next));
      copy.setLimits(diskLimits(COPY, next));
    },
  };
}

/** Limits of the copy on disk that is made without `trace_storage`. At least 72,000 spans fit. */
const COPY = { max_disk_bytes: 256 * 1024 * 1024, retention_seconds: 30 * 86_400 };

function memoryLimits({ memory_max_spans, memory_max_bytes, sampling }: ObservabilityConfig): MemoryLimits {
  return { maxSpans: memory_max_spans, maxBytes: memory_max_bytes, keepSlowMs: keepOptionsOf(sampling).keepSlowMs };
}

function diskLimits(
  {
    max_disk_bytes,
    retention_seconds,
  }: Pick<NonNullable<ObservabilityConfig["trace_storage"]>, "max_disk_bytes" | "retention_seconds">,
  { sampling }: Pick<ObservabilityConfig, "sampling">,
): DiskSpanLimits {
  return {
    maxBytes: SPANS_SHARE * max_disk_bytes,
    retentionMs: 1_000 * retention_seconds,
    keepSlowMs: keepOptionsOf(sampling).keepSlowMs,
  };
}

/** Returns the settings that decide where spans are stored. Their change requires a restart of the module. */
function storageOf({ exporter, trace_storage: storage }: ObservabilityConfig): unknown {
  return [exporter === "otlp", storage?.enabled, storage?.enabled === true ? storage.directory : undefined];
}
