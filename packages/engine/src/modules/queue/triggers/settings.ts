import { nameProblem } from "@svc-runtime/protocol";
import { z } from "zod";
import { type SubscriptionConfig, subscriptionConfigSchema } from "../topics/subscription-config.ts";
import type { WithCondition } from "./bound-functions.ts";

const condition = (skipped: string) =>
  z
    .string()
    .min(1)
    .nullish()
    .meta({ description: `Called first with the same payload; if it returns \`false\`, ${skipped}` });

/** Schema of a name of 1 to 256 bytes. `what` is the named thing in error messages, e.g. `the queue`. */
export const nameSchema = (what: string) =>
  z.string().superRefine((text, context) => {
    const problem = nameProblem(text, what);
    if (problem !== undefined) context.addIssue({ code: "custom", message: problem });
  });

export const topicNameSchema = nameSchema("the topic");

export interface QueueTriggerSettings extends WithCondition {
  readonly queue: string;
}

/**
 * Config of a `queue` trigger. Unknown keys are rejected, because a trigger with a misspelled condition would run every
 * job.
 */
export const queueTriggerSettings: z.ZodType<QueueTriggerSettings> = z
  .strictObject({
    queue: nameSchema("the queue").meta({
      description: "A declared queue. The function runs its jobs that name no function",
    }),
    condition_function_id: condition("the job is done without running"),
  })
  .transform(({ queue, condition_function_id }) => ({
    queue,
    conditionFunctionId: condition_function_id ?? undefined,
  }));

const NO_PATTERN =
  "must be the name of one topic: a durable subscription supports no patterns with `*` (triggers of type event do)";

export interface SubscriberTriggerSettings extends WithCondition {
  readonly topic: string;
  readonly config: SubscriptionConfig;
}

/** Config of a `durable:subscriber` trigger. */
export const subscriberTriggerSettings: z.ZodType<SubscriberTriggerSettings> = z
  .object({
    topic: topicNameSchema
      .refine((text) => !text.includes("*"), NO_PATTERN)
      .meta({ description: "1 to 256 bytes; no patterns" }),
    condition_function_id: condition("the message is done without being handled"),
    queue_config: subscriptionConfigSchema
      .nullish()
      .meta({ description: "Delivery settings of the function's messages" }),
  })
  .transform(({ topic, condition_function_id, queue_config }) => ({
    topic,
    conditionFunctionId: condition_function_id ?? undefined,
    config: queue_config ?? {},
  }));
