import { functionIdSchema } from "@svc/protocol";
import { z } from "zod";
import { parsePattern, patternProblem, type TopicPattern } from "./topic-pattern.ts";

/** What a trigger of this module listens to, and when. */
export interface SubscriptionSettings {
  readonly pattern: TopicPattern;
  readonly conditionFunctionId: string | undefined;
}

const topic = (description: string) =>
  z
    .string()
    .superRefine((text, context) => {
      const problem = patternProblem(text);
      if (problem !== undefined) context.addIssue({ code: "custom", message: problem });
    })
    .nullish()
    .meta({ description });
const members = {
  topic: topic("The topic, or a pattern: `*` stands for one segment, `**` for any number of them; segments are divided by . : and /"),
  condition_function_id: functionIdSchema
    .nullish()
    .meta({ description: "Function that is asked first, with the event's data; when it answers false nothing is called" }),
};

/** Config of an `event` trigger. Strict: a condition that was mistyped would let everything through. */
export const eventTriggerSettings = z
  .strictObject({ ...members, event: topic("Another name for `topic`"), event_name: topic("Another name for `topic`") })
  .transform((config, context): SubscriptionSettings => {
    const named = [config.topic, config.event, config.event_name].filter((text) => text != null);
    if (named.length > 1 && new Set(named).size > 1) context.addIssue({ code: "custom", message: "`topic`, `event` and `event_name` are one thing; give one" });
    return settingsOf(named[0], config.condition_function_id, context);
  });

/** Config of a `subscribe` trigger. Further members are passed over, as they always were for this type. */
export const subscribeTriggerSettings = z
  .object(members)
  .transform((config, context): SubscriptionSettings => settingsOf(config.topic, config.condition_function_id, context));

function settingsOf(
  text: string | null | undefined,
  condition: string | null | undefined,
  context: { addIssue(issue: { readonly code: "custom"; readonly path: string[]; readonly message: string }): void },
): SubscriptionSettings {
  if (text == null) context.addIssue({ code: "custom", path: ["topic"], message: "is missing: the name of a topic, or a pattern" });
  return { pattern: parsePattern(text ?? ""), conditionFunctionId: condition ?? undefined };
}
