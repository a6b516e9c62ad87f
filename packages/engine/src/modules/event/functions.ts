import { CallError, nameProblem, Payload } from "@svc-runtime/protocol";
import { z } from "zod";
import type { HandlerContext, ModuleContext } from "../../kernel/module.ts";
import type { PublishedEvent } from "./subscription.ts";
import type { Subscriptions } from "./subscriptions.ts";

const data = z
  .custom<Payload>((value) => value instanceof Payload)
  .optional()
  .meta({ description: "Any JSON value. Default null" });
const name = z.string().nullish();

/** Provides `publish`, `event::emit` and `event::list`. */
export function provideEventFunctions(
  { provideFunction }: Pick<ModuleContext<unknown>, "provideFunction">,
  subscriptions: Subscriptions,
): void {
  provideFunction({
    id: "publish",
    summary: "Publishes data to all subscribers of a topic; returns when the event is accepted, not when it is handled",
    input: z.object({ topic: name.meta({ description: "1 to 256 bytes" }), data }),
    rawMembers: ["data"],
    handle(input, context) {
      subscriptions.publish(eventOf(input.topic, input.data, context));
      return Payload.null;
    },
  });
  provideFunction({
    id: "event::emit",
    summary: "Publishes data to all subscribers of a topic, and returns how many triggers accepted the event",
    input: z.strictObject({ event: name.meta({ description: "The topic: 1 to 256 bytes" }), data }),
    rawMembers: ["data"],
    output: z.object({ delivered_to: z.int().min(0) }),
    handle: (input, context) => ({ delivered_to: subscriptions.publish(eventOf(input.event, input.data, context)) }),
  });
  provideFunction({
    id: "event::list",
    summary: "Lists topics that were published to since the start, and topics with subscribers",
    input: z.strictObject({}),
    output: z.object({
      topics: z.array(
        z.object({
          topic: z.string().meta({ description: "A topic, or the pattern of a subscription" }),
          subscribers: z.int().min(0),
          published: z.int().min(0),
          failed: z.int().min(0).meta({ description: "Failed calls of functions" }),
          dropped: z.int().min(0).meta({ description: "Events dropped because a trigger's queue was full" }),
          last_published_at: z.iso.datetime().nullable(),
        }),
      ),
    }),
    handle: () => ({ topics: subscriptions.list() }),
  });
}

/**
 * Publisher id of events that do not come over a connection, but from HTTP or from modules of the engine. All these
 * events are delivered in one common order.
 */
const WITHOUT_CONNECTION = "engine";

function eventOf(
  topic: string | null | undefined,
  data: Payload | undefined,
  { caller, traceparent, baggage }: HandlerContext,
): PublishedEvent {
  if (topic === null || topic === undefined || topic === "") throw new CallError("topic_not_set", "Topic is not set");
  const problem = nameProblem(topic, "the topic");
  if (problem !== undefined) throw new CallError("invalid_input", problem);
  const publisher = caller === undefined ? WITHOUT_CONNECTION : caller.worker_id;
  return {
    topic,
    data: data ?? Payload.null,
    publisher,
    isState: false,
    call: { traceparent, baggage, metadata: topicMetadata(topic) },
  };
}

/** Returns the metadata of an event's calls. */
export function topicMetadata(topic: string): Payload {
  return Payload.fromValue({ svc: { topic } });
}
