import { z } from "zod";
import type { QueueSettings } from "../queue-settings.ts";

const DAY_S = 24 * 3_600;
const YEAR_MS = 365 * DAY_S * 1_000;

/**
 * `queue_config` of a `durable:subscriber` trigger, with the keys that published clients send. A member that is null
 * means the same as a missing member.
 */
export const subscriptionConfigSchema = z.strictObject({
  type: z
    .enum(["standard", "fifo"], { error: "must be 'standard' or 'fifo'" })
    .nullish()
    .meta({ description: "standard (default), or fifo: messages are handled one after another, including retries" }),
  maxRetries: z
    .int()
    .min(0)
    .max(999)
    .nullish()
    .meta({ description: "Maximum retries of a message after its first attempt. Default 2" }),
  concurrency: z
    .int()
    .min(1)
    .max(10_000)
    .nullish()
    .meta({ description: "Maximum concurrent messages. Default 10; always 1 for fifo" }),
  visibilityTimeout: z
    .number()
    .positive()
    .max(DAY_S)
    .nullish()
    .meta({ description: "Timeout of one attempt, in seconds. Default 900 (15 min)" }),
  delaySeconds: z
    .number()
    .min(0)
    .max(YEAR_MS / 1_000)
    .nullish()
    .meta({ description: "Delay before the first attempt of a message, in seconds. Default 0" }),
  backoffType: z
    .enum(["exponential", "linear", "fixed"])
    .nullish()
    .meta({ description: "How the retry delay grows. Default exponential" }),
  backoffDelayMs: z
    .int()
    .min(0)
    .max(YEAR_MS)
    .nullish()
    .meta({ description: "Delay before the first retry, in milliseconds. Default 1000" }),
});

export type SubscriptionConfig = z.output<typeof subscriptionConfigSchema>;

/** All messages of a fifo subscription are in one group. */
const GROUP = "topic";

export function groupOf({ type }: SubscriptionConfig): string | undefined {
  return type === "fifo" ? GROUP : undefined;
}

/** Returns the queue settings of a subscription. For most missing keys, the value of `base` applies. */
export function settingsOfSubscription(config: SubscriptionConfig, base: QueueSettings): QueueSettings {
  const { type, maxRetries, concurrency, visibilityTimeout, delaySeconds, backoffType, backoffDelayMs } = config;
  return {
    ...base,
    // Also for fifo subscriptions, because the group of their jobs comes from `groupOf`, not from a field of the data.
    type: "standard",
    groupField: undefined,
    priorityField: undefined,
    concurrency: type === "fifo" ? 1 : (concurrency ?? base.concurrency),
    maxAttempts: maxRetries == null ? base.maxAttempts : maxRetries + 1,
    timeoutMs: visibilityTimeout == null ? base.timeoutMs : Math.ceil(visibilityTimeout * 1_000),
    delayMs: delaySeconds == null ? 0 : Math.round(delaySeconds * 1_000),
    backoff: {
      ...base.backoff,
      growth: backoffType ?? base.backoff.growth,
      firstMs: backoffDelayMs ?? base.backoff.firstMs,
    },
  };
}
