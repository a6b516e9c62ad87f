import { z } from "zod";
import { rawJson } from "../../../items/raw-json.ts";
import { nameSchema } from "../triggers/settings.ts";

/** Maximum delay and time to live: one year. */
const MAX_MS = 365 * 24 * 3_600_000;
const MAX_KEY = 1_024;
const MAX_NOTE = 256;
/** Maximum jobs per call. */
export const MAX_JOBS = 1_000;

export const queueName = nameSchema("the queue").meta({ description: "A queue's name" });

const functionId = nameSchema("the function id");

export const jobId = z.string().min(1).max(1_024).meta({ description: "A job's id" });

const key = (description: string) => z.string().min(1).max(MAX_KEY).nullish().meta({ description });

/** Options of a job. A member that is null means the same as a missing member. */
const jobOptions = {
  delay_ms: z.int().min(0).max(MAX_MS).nullish().meta({ description: "Minimum delay, in milliseconds" }),
  run_at: z
    .union([z.iso.datetime({ offset: true }), z.int().min(0).max(8.64e15)])
    .nullish()
    .meta({
      description: "Earliest time to run: RFC 3339, or milliseconds since 1970. Cannot be combined with delay_ms",
    }),
  priority: z
    .number()
    .min(0)
    .max(255)
    .nullish()
    .meta({ description: "0 to 255, default 0. Jobs with a higher priority run first" }),
  dedupe_key: key(
    "If the queue remembers a job with the same key (for 10 minutes), that job is returned and nothing is stored",
  ),
  expires_in_ms: z
    .int()
    .min(1)
    .max(MAX_MS)
    .nullish()
    .meta({ description: "A job that has not started by then is deleted" }),
  group: key(
    "Jobs of one group run one after another, in order. Default in a fifo queue: the value of its message_group_field",
  ),
  max_attempts: z
    .int()
    .min(1)
    .max(1_000)
    .nullish()
    .meta({ description: "Maximum attempts. Default: that of the queue" }),
};

type JobOptions = z.output<z.ZodObject<typeof jobOptions>>;

function oneTime({ delay_ms, run_at }: Pick<JobOptions, "delay_ms" | "run_at">, context: z.RefinementCtx): void {
  if (delay_ms != null && run_at != null)
    context.addIssue({ code: "custom", path: ["run_at"], message: "cannot be sent together with `delay_ms`" });
}

// Strict, because a misspelled `delay_ms` would run the job at once.
export const jobInput = z
  .strictObject({
    queue: queueName,
    function_id: functionId
      .nullish()
      .meta({ description: "The function to run. Without it, the queue's triggers run the job" }),
    data: rawJson("Input of the function. Default null"),
    ...jobOptions,
  })
  .superRefine(oneTime);

export type JobInput = z.output<typeof jobInput>;

export const jobsInput = z.strictObject({
  jobs: z.array(jobInput).min(1).max(MAX_JOBS).meta({ description: "1 to 1,000 jobs; all are stored, or none" }),
});

/**
 * An invalid W3C trace context or baggage is ignored, not rejected. Messages of workers are treated in the same way
 * (kernel/trace-context.ts).
 */
const traceparent = z
  .string()
  .regex(/^[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/)
  .optional()
  .catch(undefined);
const baggage = z
  .string()
  .max(8_192)
  .regex(/^[\t\x20-\x7e]+$/)
  .optional()
  .catch(undefined);

/** Input of the call action `enqueue`. The handler validates it, because every mistake must be an `enqueue_error`. */
export const publishedJobInput = z.object({
  queue: z.string(),
  function_id: functionId,
  data: rawJson("Input of the function. Default null"),
  // Other characters are rejected, because SQLite may change them. The id could then be the id of another job.
  messageReceiptId: jobId
    .regex(/^[\x21-\x7e]+$/, "must be of visible ASCII characters")
    .nullish()
    .meta({
      description:
        "The id of the job. Default: a new one. For a restricted caller the id is derived from it, and returned",
    }),
  traceparent,
  baggage,
  options: z.object(jobOptions).superRefine(oneTime).nullish(),
});

export const STATES = ["waiting", "active", "delayed", "dead", "done"] as const;

export const peekInput = z.strictObject({
  queue: queueName,
  state: z.enum(STATES).default("waiting").meta({ description: "Default waiting" }),
  cursor: z.string().nullish().meta({ description: "`cursor` of the previous page" }),
  limit: z
    .int()
    .min(1)
    .max(MAX_JOBS)
    .default(50)
    .meta({ description: "Maximum jobs per page: 1 to 1,000, default 50. A page also ends at 8 MiB of data" }),
});

export const progressInput = z.strictObject({
  queue: queueName,
  job_id: jobId,
  attempt: z.int().min(1).meta({ description: "The attempt that reports, counted from 1" }),
  progress: z.number().min(0).max(1).meta({ description: "0 to 1" }),
  note: z
    .string()
    .max(MAX_NOTE)
    .nullish()
    .meta({ description: `For people, up to ${MAX_NOTE} characters` }),
});

const jobIds = z.array(jobId).min(1).max(MAX_JOBS);

export const redriveInput = z.strictObject({
  queue: queueName,
  job_ids: jobIds
    .nullish()
    .meta({ description: "Ids of dead letters, all or none. Default: all dead letters of the queue" }),
  payload: rawJson("New data for the jobs"),
});

export const discardInput = z.strictObject({
  queue: queueName,
  job_ids: jobIds.meta({ description: "Ids of dead letters, all or none" }),
});
