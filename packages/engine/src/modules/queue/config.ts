import { z } from "zod";
import { defaultQueueSettings, type QueueSettings } from "./queue-settings.ts";
import type { QueueAdapter } from "./store/open-queue-store.ts";
import { isQueueOfTopic } from "./topics/queue-name.ts";

const MAX_MS = 365 * 24 * 3_600_000;
const MAX_JOB_BYTES = 8 * 1024 * 1024;

const ms = () => z.int().min(0).max(MAX_MS);
const count = (max: number) => z.int().min(1).max(max);

/** Keys of one queue; those of older configs first. */
const queueKeys = z.strictObject({
  max_retries: z
    .int()
    .min(0)
    .max(1_000)
    .optional()
    .meta({ description: "Attempts in all, the first included; 0 means one as well. Default 3. max_attempts is the clearer name and goes before it" }),
  concurrency: count(10_000).optional().meta({ description: "Jobs that run at a time; in a fifo queue one of each group. Default 10" }),
  type: z
    .string()
    .optional()
    .meta({ description: "standard (default), or fifo: jobs with the same value in message_group_field run one after another, in order" }),
  message_group_field: z.string().min(1).optional().meta({ description: "Of a fifo queue: the member of a job's data that names its group" }),
  backoff_ms: ms().optional().meta({ description: "How long a job waits after its first failed attempt, in milliseconds. Default 1000" }),
  poll_interval_ms: z.number().optional().meta({ description: "Has no effect any more: queues wake at once, without polling" }),
  max_priority: count(255).optional().meta({ description: "Priorities are cut to 0 … this; higher ones run first. Default 255" }),
  priority_field: z.string().min(1).optional().meta({ description: "The member of a job's data that holds its priority, where the job does not say it" }),
  max_attempts: count(1_000).optional().meta({ description: "Attempts in all, the first included. Default 3" }),
  backoff_type: z
    .enum(["exponential", "linear", "fixed"])
    .optional()
    .meta({ description: "How the wait grows: it doubles each time (default), grows by backoff_ms each time, or stays" }),
  backoff_cap_ms: ms().optional().meta({ description: "The longest wait. Default 15 min, which is also the most there can be" }),
  timeout_ms: count(24 * 3_600_000)
    .optional()
    .meta({ description: "How long an attempt may take before it counts as failed, in milliseconds. Default 15 min" }),
  delay_ms: ms().optional().meta({ description: "How long each job waits before its first attempt, unless it says otherwise. Default 0" }),
  dedupe_window_ms: ms().optional().meta({ description: "How long a dedupe key is remembered. Default 10 min" }),
  max_depth: count(100_000_000).optional().meta({ description: "Jobs that may wait, be delayed or run; beyond, queue_full. Default 1,000,000" }),
  max_bytes: count(1024 ** 4)
    .optional()
    .meta({ description: "Bytes of data of all jobs, dead letters too; beyond, queue_full. Default 1 GiB" }),
  max_dead: count(100_000_000).optional().meta({ description: "Dead letters; from then on the queue takes no jobs: queue_full. Default 100,000" }),
  max_job_bytes: count(MAX_JOB_BYTES)
    .optional()
    .meta({ description: "The data of one job, in bytes of its JSON. Default 8 MiB, which is the most there can be" }),
});

type QueueKeys = z.output<typeof queueKeys>;

const queueConfigs = z
  .record(z.string().min(1).max(256), queueKeys)
  .default({})
  .superRefine((configs, context) => {
    for (const [name, { type, message_group_field: field }] of Object.entries(configs)) {
      if (isQueueOfTopic(name)) context.addIssue({ code: "custom", path: [name], message: "names that begin with `topic:` are those of subscriptions" });
      if (type !== undefined && type !== "standard" && type !== "fifo") {
        context.addIssue({ code: "custom", path: [name, "type"], message: `Queue '${name}' has invalid type '${type}'. Must be 'standard' or 'fifo'` });
      }
      if (type === "fifo" && field === undefined) {
        context.addIssue({ code: "custom", path: [name], message: `Queue '${name}' is of type 'fifo' but 'message_group_field' is not set` });
      }
    }
  })
  .meta({ description: "Queues by name. One named default always exists" });

const filePath = z.string().min(1).meta({ description: "The database file; relative to the data folder. Default queue.db" });

const DEFAULT_FILE = "queue.db";

const fileBased = z.strictObject({ name: z.literal("file_based"), config: z.strictObject({ file_path: filePath.default(DEFAULT_FILE) }).prefault({}) });
const inMemory = z.strictObject({ name: z.literal("in_memory"), config: z.strictObject({}).prefault({}) });

/** The shape of older configs. Jobs survive a restart unless they are asked not to; saving by interval and polling are gone. */
const builtin = z.strictObject({
  name: z.literal("builtin"),
  config: z
    .strictObject({
      store_method: z.enum(["in_memory", "file_based"]).default("file_based"),
      file_path: filePath.default(DEFAULT_FILE),
      max_attempts: count(1_000).optional().meta({ description: "For queues that do not say it" }),
      backoff_ms: ms().optional().meta({ description: "For queues that do not say it" }),
      concurrency: count(10_000).optional().meta({ description: "For queues that do not say it" }),
      mode: z.enum(["concurrent", "fifo"]).optional().meta({ description: "fifo: one job at a time for queues that do not say their concurrency" }),
      save_interval_ms: z.number().optional().meta({ description: "Has no effect any more: a job is on the disk before it is accepted" }),
      poll_interval_ms: z.number().optional().meta({ description: "Has no effect any more: queues wake at once, without polling" }),
      channel_size: z.number().optional().meta({ description: "Has no effect any more" }),
    })
    .prefault({}),
});

/** What would only look like a queue is refused by its name. */
const elsewhere = z
  .looseObject({ name: z.enum(["redis", "rabbitmq", "bridge"]) })
  .refine(() => false, { error: "is not available: svc-queue keeps jobs itself, durably; use adapter: {name: file_based}, or leave adapter out" });

const adapter = z
  .union([fileBased, inMemory, builtin, elsewhere])
  .prefault({ name: "file_based" })
  .meta({ description: "Where jobs are kept: file_based (default: each is synced before it is accepted) or in_memory (gone when the engine ends)" });

/** The `config` of an `svc-queue` entry. */
export const queueConfigSchema = z.strictObject({ adapter, queue_configs: queueConfigs }).transform(({ adapter: kept, queue_configs: configs }) => {
  const base = kept.name === "builtin" ? baseOf(kept.config) : defaultQueueSettings;
  const queues = new Map<string, QueueSettings>([["default", base]]);
  for (const [name, keys] of Object.entries(configs)) queues.set(name, settingsOf(keys, base));
  return { adapter: adapterOf(kept), base, queues: [...queues] };
});

export type QueueConfig = Readonly<z.output<typeof queueConfigSchema>>;

function adapterOf(kept: z.output<typeof adapter>): QueueAdapter {
  if (kept.name === "file_based") return { name: "file_based", config: { file_path: kept.config.file_path } };
  if (kept.name === "builtin" && kept.config.store_method === "file_based") return { name: "file_based", config: { file_path: kept.config.file_path } };
  return { name: "in_memory" };
}

function baseOf({ max_attempts, backoff_ms, concurrency, mode }: z.output<typeof builtin>["config"]): QueueSettings {
  const keys = { max_attempts, backoff_ms, concurrency: concurrency ?? (mode === "fifo" ? 1 : undefined) };
  return settingsOf(keys, defaultQueueSettings);
}

/** What a queue's keys come to; those that are missing are as in `base`. */
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
  };
}
