import { nameProblem } from "@svc/protocol";
import { z } from "zod";
import { rawJson } from "../../../items/raw-json.ts";

/** Longest wait or time to live: a year. */
const MAX_MS = 365 * 24 * 3_600_000;
const MAX_KEY = 1_024;
/** Of one call that takes several. */
export const MAX_JOBS = 1_000;

export const queueName = z
  .string()
  .superRefine((text, context) => {
    const problem = nameProblem(text, "the queue");
    if (problem !== undefined) context.addIssue({ code: "custom", message: problem });
  })
  .meta({ description: "A queue's name" });

const functionId = z.string().superRefine((text, context) => {
  const problem = nameProblem(text, "the function id");
  if (problem !== undefined) context.addIssue({ code: "custom", message: problem });
});

export const jobId = z.string().min(1).max(1_024).meta({ description: "A job's id" });

const key = (description: string) => z.string().min(1).max(MAX_KEY).nullish().meta({ description });

/** How a job is put on a queue; members that are null count as absent. */
const jobOptions = {
  delay_ms: z.int().min(0).max(MAX_MS).nullish().meta({ description: "Runs so many milliseconds from now at the earliest" }),
  run_at: z
    .union([z.iso.datetime({ offset: true }), z.int().min(0).max(8.64e15)])
    .nullish()
    .meta({ description: "Runs at that time at the earliest: RFC 3339, or milliseconds since 1970. Not together with delay_ms" }),
  priority: z.number().min(0).max(255).nullish().meta({ description: "Higher ones come first; 0 to 255, default 0" }),
  dedupe_key: key("While a job of the queue with the same key is remembered (10 minutes), that one is answered and nothing is stored"),
  expires_in_ms: z.int().min(1).max(MAX_MS).nullish().meta({ description: "Not begun by then, it is dropped" }),
  group: key("Jobs of one group run one after another, in order; default in a fifo queue: what its message_group_field says"),
  max_attempts: z.int().min(1).max(1_000).nullish().meta({ description: "Attempts in all; default as the queue says" }),
};

type JobOptions = z.output<z.ZodObject<typeof jobOptions>>;

function oneTime({ delay_ms, run_at }: Pick<JobOptions, "delay_ms" | "run_at">, context: z.RefinementCtx): void {
  if (delay_ms != null && run_at != null) context.addIssue({ code: "custom", path: ["run_at"], message: "cannot be sent together with `delay_ms`" });
}

// Strict: a mistyped `delay_ms` would run the job at once.
export const jobInput = z
  .strictObject({
    queue: queueName,
    function_id: functionId.nullish().meta({ description: "The function that is to run; without it, the job is for the queue's triggers" }),
    data: rawJson("What the function gets; default null"),
    ...jobOptions,
  })
  .superRefine(oneTime);

export type JobInput = z.output<typeof jobInput>;

export const jobsInput = z.strictObject({ jobs: z.array(jobInput).min(1).max(MAX_JOBS).meta({ description: "1 to 1,000 jobs; all are stored, or none" }) });

/** As on the wire: what is no W3C trace context or baggage is dropped, not refused (kernel/trace-context.ts). */
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

/** What the engine calls for `action: enqueue`; checked by hand, since all that is wrong with it is an `enqueue_error`. */
export const publishedJobInput = z.object({
  queue: z.string(),
  function_id: functionId,
  data: rawJson("What the function gets; default null"),
  // What SQLite would not give back as it was put in would be another job's id.
  messageReceiptId: jobId
    .regex(/^[\x21-\x7e]+$/, "must be of visible ASCII characters")
    .nullish()
    .meta({ description: "The id of the job; made when absent. For a restricted caller another one is derived from it, which the answer says" }),
  traceparent,
  baggage,
  options: z.object(jobOptions).superRefine(oneTime).nullish(),
});

export const STATES = ["waiting", "active", "delayed", "dead"] as const;

export const peekInput = z.strictObject({
  queue: queueName,
  state: z.enum(STATES).default("waiting").meta({ description: "Default waiting" }),
  cursor: z.string().nullish().meta({ description: "Where to go on: `cursor` of the page before" }),
  limit: z.int().min(1).max(MAX_JOBS).default(50).meta({ description: "Most jobs of the page; 1 to 1,000, default 50. A page ends at 8 MiB of data, too" }),
});

const jobIds = z.array(jobId).min(1).max(MAX_JOBS);

export const redriveInput = z.strictObject({
  queue: queueName,
  job_ids: jobIds.nullish().meta({ description: "Only these dead letters, all or none; default: every one of the queue" }),
  payload: rawJson("Data in place of theirs"),
});

export const discardInput = z.strictObject({ queue: queueName, job_ids: jobIds.meta({ description: "Dead letters; all or none" }) });
