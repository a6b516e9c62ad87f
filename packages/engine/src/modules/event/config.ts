import { z } from "zod";

/** Name of the module. */
export const NAME = "svc-event";

/** Default maximum of waiting events per trigger. Further events are dropped. */
const DEFAULT_MAX_WAITING_EVENTS = 1_000;
const HIGHEST_MAX_WAITING_EVENTS = 100_000;
const DEFAULT_MAX_WAITING_BYTES = 16 * 1024 * 1024;
const HIGHEST_MAX_WAITING_BYTES = 1024 * 1024 * 1024;

const adapter = z
  .strictObject({
    name: z.enum(["local", "in_memory"], {
      error:
        "events stay within one engine: the only adapter is `local`. Use the topics of svc-queue for messages that must not be lost",
    }),
    config: z.strictObject({}).optional(),
  })
  .optional()
  .meta({ description: "How events reach their subscribers. The default and only adapter is local" });

/** The `config` of an `svc-event` entry. */
export const eventConfigSchema = z
  .strictObject({
    adapter,
    max_waiting_events: z
      .int()
      .min(1)
      .max(HIGHEST_MAX_WAITING_EVENTS)
      .default(DEFAULT_MAX_WAITING_EVENTS)
      .meta({ description: "Maximum events that wait for one trigger; further events are dropped. Default 1,000" }),
    max_waiting_bytes: z.int().min(1).max(HIGHEST_MAX_WAITING_BYTES).default(DEFAULT_MAX_WAITING_BYTES).meta({
      description:
        "Maximum bytes of the events that wait for one trigger, approximately. All triggers of one restricted principal share this limit, which then includes events that are being delivered. Default 16 MiB",
    }),
  })
  .transform((block) => ({ maxWaitingEvents: block.max_waiting_events, maxWaitingBytes: block.max_waiting_bytes }));

export type EventConfig = z.output<typeof eventConfigSchema>;
