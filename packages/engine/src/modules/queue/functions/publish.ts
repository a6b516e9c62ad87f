import { CallError, Payload } from "@svc-runtime/protocol";
import { z } from "zod";
import { inSpan } from "../../../deliveries/trigger-span.ts";
import { rawJson } from "../../../items/raw-json.ts";
import type { HandlerContext, ModuleContext } from "../../../kernel/module.ts";
import { publishSpan } from "../spans.ts";
import type { Published, Topics } from "../topics/topics.ts";
import { topicNameSchema } from "../triggers/settings.ts";
import { makerIn } from "./job-request.ts";
import { publishedName } from "./names.ts";

const publishInput = z.object({
  topic: z.string().nullish().meta({ description: "1 to 256 bytes" }),
  data: rawJson("The message. Default null"),
});

type PublishInput = z.output<typeof publishInput>;

/** Provides the functions that publish to durable topics. */
export function providePublishFunctions(
  { provideFunction, telemetry }: Pick<ModuleContext<unknown>, "provideFunction" | "telemetry">,
  topics: Topics,
): void {
  function publish(
    { topic, data = Payload.null }: PublishInput,
    { principal, traceparent, baggage }: HandlerContext,
  ): Promise<Published> {
    if (!topic) throw new CallError("topic_not_set", "Topic is not set");
    const problem = topicNameSchema.safeParse(topic).error?.issues[0]?.message;
    if (problem !== undefined) throw new CallError("invalid_input", problem);
    return inSpan(telemetry, publishSpan(topic, { traceparent, baggage }), (span) =>
      topics.publish(topic, data, { traceparent: span.traceparent, baggage }, makerIn(principal)),
    );
  }

  const spec = {
    id: "svc::durable::publish",
    summary:
      "Publishes a message to every subscription of a durable topic, also to subscriptions whose worker is disconnected; returns when the message is on disk",
    input: publishInput,
    rawMembers: ["data"],
  };
  provideFunction({
    ...spec,
    output: z.object({
      message_id: z.string(),
      subscriptions: z.int().meta({
        description:
          "Number of subscriptions that got a job for it. With 0, the message waits up to a week for the first subscription",
      }),
    }),
    async handle(input, context) {
      const { messageId, subscriptions } = await publish(input, context);
      return { message_id: messageId, subscriptions };
    },
  });
  // Published clients call the function by another id, and expect null as its result.
  provideFunction(
    publishedName({
      ...spec,
      async handle(input: PublishInput, context: HandlerContext) {
        await publish(input, context);
        return Payload.null;
      },
    }),
  );
}
