import { functionIdSchema } from "@svc-runtime/protocol";
import { z } from "zod";
import { parsePattern, patternProblem, type TopicPattern } from "./topic-pattern.ts";

/** Settings of a trigger of this module. */
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
  topic: topic(
    "The topic, or a pattern: `*` matches one segment, `**` any number of segments. Segments are separated by . : and /",
  ),
  condition_function_id: functionIdSchema
    .nullish()
    .meta({ description: "Called first with the event's data; if it returns `false`, the event is skipped" }),
};

/**
 * Config of an `event` trigger. Unknown members are rejected, because with a misspelled condition every event would be
 * delivered.
 */
export const eventTriggerSettings = z
  .strictObject({ ...members, event: topic("Another name for `topic`"), event_name: topic("Another name for `topic`") })
  .transform((config, context): SubscriptionSettings => {
    const named = [config.topic, config.event, config.event_name].filter((text) => text != null);
    if (named.length > 1 && new Set(named).size > 1)
      context.addIssue({ code: "custom", message: "`topic`, `event` and `event_name` are the same; set only one" });
    return settingsOf(named[0], config.condition_function_id, context);
  });

/** Config of a `subscribe` trigger. Unknown members are ignored, because published clients may send them. */
export const subscribeTriggerSettings = z
  .object(members)
  .transform(
    (config, context): SubscriptionSettings => settingsOf(config.topic, config.condition_function_id, context),
  );

function settingsOf(
  text: string | null | undefined,
  condition: string | null | undefined,
  context: { addIssue(issue: { readonly code: "custom"; readonly path: string[]; readonly message: string }): void },
): SubscriptionSettings {
  if (text == null)
    context.addIssue({
      code: "custom",
      path: ["topic"],
      message: "is missing: expected the name of a topic, or a pattern",
    });
  return { pattern: parsePattern(text ?? ""), conditionFunctionId: condition ?? undefined };
}
