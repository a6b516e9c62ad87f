import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import type { LogEntry, ModuleContext } from "@svc-runtime/engine/module";
import { SecretMask } from "@svc-runtime/protocol";
import { LOGS_SHARE, type ObservabilityConfig, storageFolder } from "../config.ts";
import type { RecordRate } from "../otlp/record-rate.ts";
import type { DropCounter, LogRecord, LogSink } from "../telemetry-records.ts";
import { ConsoleEcho } from "./console-echo.ts";
import type { DiskLimits } from "./disk-logs.ts";
import { provideEngineLog } from "./functions/engine-log.ts";
import { provideEngineLogs } from "./functions/engine-logs.ts";
import type { LogApi } from "./log-api.ts";
import { LogIntake } from "./log-intake.ts";
import type { RedactAttributes } from "./log-json.ts";
import { recordOfEntry } from "./log-record.ts";
import type { LogStore, LogStoreStats } from "./log-store.ts";
import { LogStream } from "./log-stream.ts";
import { LogTriggers } from "./log-trigger.ts";
import { type MemoryLimits, MemoryLogs } from "./memory-logs.ts";
import { RecentLogs } from "./recent-logs.ts";

export interface LogsOptions {
  readonly drops: DropCounter;
  /** Limits the number of records from restricted principals. */
  readonly rate: RecordRate;
  /** Further sinks for stored entries, for example an exporter. */
  readonly sinks?: readonly LogSink[];
}

export interface LogsPart {
  /** Takes complete records, for example from OTLP. */
  readonly sink: LogSink;
  log(entry: LogEntry): void;
  /** Returns undefined if entries are not stored. */
  stats(): LogStoreStats | undefined;
  reconfigure(next: ObservabilityConfig): "restart" | undefined;
  stop(): Promise<void>;
}

export async function startLogs(context: ModuleContext<ObservabilityConfig>, options: LogsOptions): Promise<LogsPart> {
  const { clock } = context;
  let { config } = context;
  let redactor = new SecretMask(config.redact_keys);
  const isEnabled = enabledIn(config);
  const redact: RedactAttributes = (attributes) => redactor.attributes(attributes);

  const { store, setLimits, lastId } = await openLogStore(context, options.drops, redact);
  // The id is based on microseconds since 1970, so that the ids of a later run are greater.
  const firstId = Math.max(Math.floor(clock.now()) * 1_000, lastId + 1);
  const recent = new RecentLogs(firstId - 1);
  const stream = new LogStream({ streams: context.streams, clock, redact, recent });
  const triggers = new LogTriggers({
    clock,
    directory: context.directory,
    telemetry: context.telemetry,
    drops: options.drops,
    redact,
  });
  const echo = new ConsoleEcho({ log: context.log, clock, redact });
  const intake = new LogIntake({
    firstId,
    samplingRatio: config.logs_sampling_ratio,
    node: context.nodes?.name,
    listeners: [
      (entry) => store?.add(entry),
      (entry) => recent.add(entry),
      (entry) => stream.add(entry),
      (entry) => triggers.add(entry),
      ...(options.sinks ?? []).map((sink) => (entry: { readonly log: LogRecord }) => sink.add(entry.log)),
    ],
  });
  /** Takes entries of workers and writes them to the engine's output. The engine's own log lines are already there. */
  const takeOfWorker = (log: LogRecord): void => {
    const isNew = isEnabled ? intake.add(log) : true;
    if (isNew && config.logs_console_output) echo.show(log);
  };

  let api: Promise<LogApi> | undefined;
  provideEngineLog(context, {
    ...options,
    log: (entry) => takeOfWorker(recordOfEntry(entry, { service: config.service_name, nowMs: clock.now() })),
  });
  provideEngineLogs(context, {
    async api() {
      if (store === undefined) return undefined;
      api ??= import("./log-api.ts").then(
        (loaded) =>
          new loaded.LogApi({
            context,
            store,
            recent,
            redact,
            redactKeys: () => config.redact_keys,
            drops: options.drops,
            add: (log) => void intake.add(log),
          }),
      );
      return api;
    },
    disabledReason: isEnabled
      ? "log entries are exported and not stored; set `logs_exporter: both` or `memory` in the config of svc-observability"
      : "logs are off; set `logs_enabled: true` in the config of svc-observability",
  });
  context.provideTrigger(triggers.spec());

  return {
    sink: { add: takeOfWorker },
    log(entry) {
      // The engine's log line that shows an entry must not become another entry.
      if (echo.isWriting) return;
      const isOfWorker = entry.attributes !== undefined && Object.hasOwn(entry.attributes, "svc.worker.name");
      if (!isEnabled && !isOfWorker) return;
      const record = recordOfEntry(entry, { service: config.service_name, nowMs: clock.now() });
      if (isOfWorker) takeOfWorker(record);
      else intake.add(record);
    },
    stats: () => store?.stats(),
    reconfigure(next) {
      if (!isDeepStrictEqual(fixedIn(config), fixedIn(next))) return "restart";
      config = next;
      redactor = new SecretMask(next.redact_keys);
      intake.setSamplingRatio(next.logs_sampling_ratio);
      setLimits(next);
      return undefined;
    },
    async stop() {
      (await api)?.stop();
      stream.stop();
      await store?.stop();
    },
  };
}

function enabledIn(config: ObservabilityConfig): boolean {
  return config.logs_enabled ?? config.enabled;
}

/** Returns the settings whose change requires a restart of the module. */
function fixedIn(config: ObservabilityConfig): unknown {
  const { trace_storage: storage } = config;
  return [enabledIn(config), config.logs_exporter ?? config.exporter, storage?.enabled, storage?.directory];
}

interface OpenedStore {
  /** Undefined if entries are not stored. */
  readonly store: LogStore | undefined;
  readonly setLimits: (config: ObservabilityConfig) => void;
  readonly lastId: number;
}

async function openLogStore(
  context: ModuleContext<ObservabilityConfig>,
  drops: DropCounter,
  redact: RedactAttributes,
): Promise<OpenedStore> {
  const { config, clock, log, openStore } = context;
  if (!enabledIn(config) || (config.logs_exporter ?? config.exporter) === "otlp")
    return { store: undefined, setLimits: () => {}, lastId: 0 };
  const storage = config.trace_storage;
  if (storage === undefined || !storage.enabled) {
    const store = new MemoryLogs({ clock, limits: memoryLimits(config) });
    return { store, setLimits: (next) => store.setLimits(memoryLimits(next)), lastId: 0 };
  }
  const { DiskLogs } = await import("./disk-logs.ts");
  const store = await DiskLogs.open({
    file: join(storageFolder(storage, context.dataDir), "logs.db"),
    clock,
    log,
    drops,
    openStore,
    redact,
    limits: diskLimits(config),
  });
  return { store, setLimits: (next) => store.setLimits(diskLimits(next)), lastId: store.lastId };
}

function diskLimits({ trace_storage, logs_retention_seconds }: ObservabilityConfig): DiskLimits {
  const maxAgeSeconds = Math.min(
    trace_storage?.retention_seconds ?? Number.POSITIVE_INFINITY,
    logs_retention_seconds ?? Number.POSITIVE_INFINITY,
  );
  return { maxBytes: LOGS_SHARE * (trace_storage?.max_disk_bytes ?? 0), maxAgeMs: maxAgeSeconds * 1_000 };
}

function memoryLimits(config: ObservabilityConfig): MemoryLimits {
  const { logs_max_count, logs_max_bytes, logs_retention_seconds } = config;
  return {
    maxCount: logs_max_count,
    maxBytes: logs_max_bytes,
    maxAgeMs: logs_retention_seconds === undefined ? undefined : logs_retention_seconds * 1_000,
  };
}
