import { z } from "zod";
import type { QueueSettings } from "../queue-settings.ts";

const DAY_S = 24 * 3_600;
const YEAR_MS = 365 * DAY_S * 1_000;

/** `queue_config` of a `durable:subscriber` trigger, with the keys that published clients know. Members that are null count as absent. */
export const subscriptionConfigSchema = z.strictObject({
  type: z
    .enum(["standard", "fifo"], { error: "must be 'standard' or 'fifo'" })
    .nullish()
    .meta({ description: "standard (default), or fifo: one message after another, also when one of them has to be tried again" }),
  maxRetries: z.int().min(0).max(999).nullish().meta({ description: "How often a message is tried again after its first attempt failed. Default 2" }),
  concurrency: z.int().min(1).max(10_000).nullish().meta({ description: "Messages in work at a time. Default 10; fifo has 1" }),
  visibilityTimeout: z
    .number()
    .positive()
    .max(DAY_S)
    .nullish()
    .meta({ description: "How many seconds the function may take for a message before that counts as failed. Default 15 min" }),
  delaySeconds: z
    .number()
    .min(0)
    .max(YEAR_MS / 1_000)
    .nullish()
    .meta({ description: "How many seconds each message waits before its first attempt. Default 0" }),
  backoffType: z.enum(["exponential", "linear", "fixed"]).nullish().meta({ description: "How the wait before a retry grows. Default exponential" }),
  backoffDelayMs: z.int().min(0).max(YEAR_MS).nullish().meta({ description: "The wait before the first retry, in milliseconds. Default 1000" }),
});

export type SubscriptionConfig = z.output<typeof subscriptionConfigSchema>;

/** Messages of a fifo subscription are all of one group. */
const GROUP = "topic";

export function groupOf({ type }: SubscriptionConfig): string | undefined {
  return type === "fifo" ? GROUP : undefined;
}

/** What a subscription's config comes to; what is missing is as in `base`. */
export function settingsOfSubscription(config: SubscriptionConfig, base: QueueSettings): QueueSettings {
  const { type, maxRetries, concurrency, visibilityTimeout, delaySeconds, backoffType, backoffDelayMs } = config;
  return {
    ...base,
    // How jobs get their group is no business of the data here.
    type: "standard",
    groupField: undefined,
    priorityField: undefined,
    concurrency: type === "fifo" ? 1 : (concurrency ?? base.concurrency),
    maxAttempts: maxRetries == null ? base.maxAttempts : maxRetries + 1,
    timeoutMs: visibilityTimeout == null ? base.timeoutMs : Math.ceil(visibilityTimeout * 1_000),
    delayMs: delaySeconds == null ? 0 : Math.round(delaySeconds * 1_000),
    backoff: { ...base.backoff, growth: backoffType ?? base.backoff.growth, firstMs: backoffDelayMs ?? base.backoff.firstMs },
  };
}
