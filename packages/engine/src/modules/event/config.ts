import { z } from "zod";

/** Events that may wait for one subscriber, unless the config says otherwise; what comes on top is dropped. */
const DEFAULT_MAX_WAITING_EVENTS = 1_000;
const HIGHEST_MAX_WAITING_EVENTS = 100_000;
const DEFAULT_MAX_WAITING_BYTES = 16 * 1024 * 1024;
const HIGHEST_MAX_WAITING_BYTES = 1024 * 1024 * 1024;

const adapter = z
  .strictObject({
    name: z.enum(["local", "in_memory"], {
      error: "events stay within one engine: the only adapter is `local`. For messages that must not be lost there are the topics of svc-queue",
    }),
    config: z.strictObject({}).optional(),
  })
  .optional()
  .meta({ description: "How events reach their subscribers: local, which is the default and the only one" });

/** The `config` of an `svc-event` entry. */
export const eventConfigSchema = z
  .strictObject({
    adapter,
    max_waiting_events: z
      .int()
      .min(1)
      .max(HIGHEST_MAX_WAITING_EVENTS)
      .default(DEFAULT_MAX_WAITING_EVENTS)
      .meta({ description: "Events that may wait for one trigger whose function does not keep up; what comes on top is dropped. Default 1,000" }),
    max_waiting_bytes: z.int().min(1).max(HIGHEST_MAX_WAITING_BYTES).default(DEFAULT_MAX_WAITING_BYTES).meta({
      description:
        "Bytes of the events that may wait for one trigger, approximately. All triggers of one restricted principal share this limit, which then includes events that are being delivered. Default 16 MiB",
    }),
  })
  .transform((block) => ({ maxWaitingEvents: block.max_waiting_events, maxWaitingBytes: block.max_waiting_bytes }));

export type EventConfig = z.output<typeof eventConfigSchema>;
