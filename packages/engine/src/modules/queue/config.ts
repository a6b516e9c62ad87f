import { z } from "zod";
import { defaultQueueSettings, type QueueSettings } from "./queue-settings.ts";
import type { QueueAdapter } from "./store/open-queue-store.ts";
import { isQueueOfTopic } from "./topics/queue-name.ts";

/** Name of the module. */
export const NAME = "svc-queue";

const MAX_MS = 365 * 24 * 3_600_000;
const MAX_JOB_BYTES = 8 * 1024 * 1024;
/** Maximum done jobs kept per queue. There is a maximum because each may be stored with a result of up to 64 KiB. */
const MAX_KEPT = 10_000;

const ms = () => z.int().min(0).max(MAX_MS);
const count = (max: number) => z.int().min(1).max(max);

/** Config keys of one queue. The keys that older configs use are listed first. */
const queueKeys = z.strictObject({
  max_retries: z.int().min(0).max(1_000).optional().meta({
    description:
      "Maximum attempts, including the first; 0 means 1. Default 3. Prefer max_attempts, which takes precedence",
  }),
  concurrency: count(10_000)
    .optional()
    .meta({ description: "Maximum concurrent jobs; a fifo queue runs one job per group. Default 10" }),
  type: z.string().optional().meta({
    description:
      "standard (default), or fifo: jobs with the same value in message_group_field run one after another, in order",
  }),
  message_group_field: z
    .string()
    .min(1)
    .optional()
    .meta({ description: "fifo queues: the field of a job's data that names its group" }),
  backoff_ms: ms().optional().meta({ description: "Delay before the first retry, in milliseconds. Default 1000" }),
  poll_interval_ms: z.number().optional().meta({ description: "Ignored: queues do not poll" }),
  max_priority: count(255).optional().meta({
    description:
      "Maximum priority; larger values are reduced to it. Jobs with a higher priority run first. Default 255",
  }),
  priority_field: z
    .string()
    .min(1)
    .optional()
    .meta({ description: "The field of a job's data that holds its priority. Used if the job sets no priority" }),
  max_attempts: count(1_000).optional().meta({ description: "Maximum attempts, including the first. Default 3" }),
  backoff_type: z.enum(["exponential", "linear", "fixed"]).optional().meta({
    description:
      "How the retry delay grows: it doubles (exponential, the default), grows by backoff_ms (linear), or stays the same (fixed)",
  }),
  backoff_cap_ms: ms()
    .optional()
    .meta({ description: "Maximum retry delay, in milliseconds. Default and maximum 15 min" }),
  timeout_ms: count(24 * 3_600_000)
    .optional()
    .meta({ description: "Timeout of one attempt, in milliseconds. Default 15 min" }),
  delay_ms: ms()
    .optional()
    .meta({ description: "Delay before the first attempt of jobs that set no delay, in milliseconds. Default 0" }),
  dedupe_window_ms: ms()
    .optional()
    .meta({ description: "How long a dedupe key is remembered, in milliseconds. Default 10 min" }),
  max_depth: count(100_000_000).optional().meta({
    description: "Maximum jobs that wait, are delayed or run; further jobs fail with queue_full. Default 1,000,000",
  }),
  max_bytes: count(1024 ** 4)
    .optional()
    .meta({
      description:
        "Maximum bytes of data of all jobs, including dead letters; further jobs fail with queue_full. Default 1 GiB",
    }),
  max_dead: count(100_000_000).optional().meta({
    description: "Maximum dead letters; at this limit the queue rejects jobs with queue_full. Default 100,000",
  }),
  keep_completed: z
    .strictObject({
      count: z.int().min(0).max(MAX_KEPT).optional().meta({ description: "Maximum jobs; 0 keeps none. Default 1,000" }),
      age: z
        .int()
        .min(1)
        .max(MAX_MS / 1_000)
        .optional()
        .meta({ description: "How long each is kept, in seconds. Default 1 hour" }),
    })
    .optional()
    .meta({ description: "Jobs that succeeded and are kept with result, duration and attempts" }),
  max_job_bytes: count(MAX_JOB_BYTES)
    .optional()
    .meta({ description: "Maximum size of one job's data, in bytes of JSON. Default and maximum 8 MiB" }),
});

type QueueKeys = z.output<typeof queueKeys>;

const queueConfigs = z
  .record(z.string().min(1).max(256), queueKeys)
  .default({})
  .superRefine((configs, context) => {
    for (const [name, { type, message_group_field: field }] of Object.entries(configs)) {
      if (isQueueOfTopic(name))
        context.addIssue({
          code: "custom",
          path: [name],
          message: "names that begin with `topic:` are reserved for subscriptions",
        });
      if (type !== undefined && type !== "standard" && type !== "fifo") {
        context.addIssue({
          code: "custom",
          path: [name, "type"],
          message: `Queue '${name}' has invalid type '${type}'. Must be 'standard' or 'fifo'`,
        });
      }
      if (type === "fifo" && field === undefined) {
        context.addIssue({
          code: "custom",
          path: [name],
          message: `Queue '${name}' is of type 'fifo' but 'message_group_field' is not set`,
        });
      }
    }
  })
  .meta({ description: "Queues by name. The queue `default` always exists" });

const filePath = z.string().min(1).meta({
  description: "Database file, relative to the data folder. Its folder is created if it is missing. Default queue.db",
});

const DEFAULT_FILE = "queue.db";

const fileBased = z.strictObject({
  name: z.literal("file_based"),
  config: z
    .strictObject({
      file_path: filePath.default(DEFAULT_FILE),
      local: z.boolean().optional().meta({
        description: "In a cluster: true keeps the data at this engine, apart from those of the others. Default false",
      }),
    })
    .prefault({}),
});
const inMemory = z.strictObject({ name: z.literal("in_memory"), config: z.strictObject({}).prefault({}) });

const cluster = z.strictObject({ name: z.literal("cluster"), config: z.strictObject({}).prefault({}) });

/**
 * Adapter of older configs. By default it now stores jobs in a file. Its keys for saving at intervals and for polling
 * are accepted and ignored.
 */
const builtin = z.strictObject({
  name: z.literal("builtin"),
  config: z
    .strictObject({
      store_method: z.enum(["in_memory", "file_based"]).default("file_based"),
      file_path: filePath.default(DEFAULT_FILE),
      max_attempts: count(1_000).optional().meta({ description: "Default of queues that do not set it" }),
      backoff_ms: ms().optional().meta({ description: "Default of queues that do not set it" }),
      concurrency: count(10_000).optional().meta({ description: "Default of queues that do not set it" }),
      mode: z
        .enum(["concurrent", "fifo"])
        .optional()
        .meta({ description: "fifo: queues that set no concurrency run one job at a time" }),
      save_interval_ms: z.number().optional().meta({ description: "Ignored: a job is on disk before it is accepted" }),
      poll_interval_ms: z.number().optional().meta({ description: "Ignored: queues do not poll" }),
      channel_size: z.number().optional().meta({ description: "Ignored" }),
    })
    .prefault({}),
});

/** Adapters that older configs may name for other queue systems. The error says which adapter to use instead. */
const unsupported = z.looseObject({ name: z.enum(["redis", "rabbitmq", "bridge"]) }).refine(() => false, {
  error: "is not supported: svc-queue stores jobs itself, durably; use adapter: {name: file_based}, or omit adapter",
});

const adapter = z.union([fileBased, inMemory, cluster, builtin, unsupported]).prefault({ name: "file_based" }).meta({
  description:
    "Where jobs are stored: file_based (default; each job is synced before it is accepted) in_memory (jobs are lost when the engine stops), or cluster (the default with engine.cluster: all engines share the jobs)",
});

/** The `config` of an `svc-queue` entry. */
export const queueConfigSchema = z
  .strictObject({ adapter, queue_configs: queueConfigs })
  .transform(({ adapter: kept, queue_configs: configs }) => {
    const base = kept.name === "builtin" ? baseOf(kept.config) : defaultQueueSettings;
    const queues = new Map<string, QueueSettings>([["default", base]]);
    for (const [name, keys] of Object.entries(configs)) queues.set(name, settingsOf(keys, base));
    return { adapter: adapterOf(kept), base, queues: [...queues] };
  });

export type QueueConfig = Readonly<z.output<typeof queueConfigSchema>>;

function adapterOf(kept: z.output<typeof adapter>): QueueAdapter {
  if (kept.name === "file_based") return { name: "file_based", config: { file_path: kept.config.file_path } };
  if (kept.name === "cluster") return { name: "cluster" };
  if (kept.name === "builtin" && kept.config.store_method === "file_based")
    return { name: "file_based", config: { file_path: kept.config.file_path } };
  return { name: "in_memory" };
}

function baseOf({ max_attempts, backoff_ms, concurrency, mode }: z.output<typeof builtin>["config"]): QueueSettings {
  const keys = { max_attempts, backoff_ms, concurrency: concurrency ?? (mode === "fifo" ? 1 : undefined) };
  return settingsOf(keys, defaultQueueSettings);
}

/** Returns a queue's settings. For most missing keys, the value of `base` applies. */
export function settingsOf(keys: QueueKeys, base: QueueSettings): QueueSettings {
  const attempts = keys.max_attempts ?? (keys.max_retries === undefined ? undefined : Math.max(1, keys.max_retries));
  return {
    type: keys.type === "fifo" ? "fifo" : "standard",
    groupField: keys.type === "fifo" ? keys.message_group_field : undefined,
    concurrency: keys.concurrency ?? base.concurrency,
    maxAttempts: attempts ?? base.maxAttempts,
    backoff: {
      growth: keys.backoff_type ?? base.backoff.growth,
      firstMs: keys.backoff_ms ?? base.backoff.firstMs,
      maxMs: Math.min(defaultQueueSettings.backoff.maxMs, keys.backoff_cap_ms ?? base.backoff.maxMs),
      jitter: base.backoff.jitter,
    },
    timeoutMs: keys.timeout_ms ?? base.timeoutMs,
    delayMs: keys.delay_ms ?? base.delayMs,
    priorityField: keys.priority_field,
    maxPriority: keys.max_priority ?? base.maxPriority,
    dedupeWindowMs: keys.dedupe_window_ms ?? base.dedupeWindowMs,
    maxJobBytes: keys.max_job_bytes ?? base.maxJobBytes,
    limits: {
      maxDepth: keys.max_depth ?? base.limits.maxDepth,
      maxBytes: keys.max_bytes ?? base.limits.maxBytes,
      maxDead: keys.max_dead ?? base.limits.maxDead,
    },
    keepDone: {
      count: keys.keep_completed?.count ?? base.keepDone.count,
      ageMs: keys.keep_completed?.age === undefined ? base.keepDone.ageMs : keys.keep_completed.age * 1_000,
    },
  };
}
