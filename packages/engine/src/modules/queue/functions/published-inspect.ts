import { Payload } from "@svc-runtime/protocol";
import { z } from "zod";
import type { ModuleContext } from "../../../kernel/module.ts";
import type { QueueCore } from "../queue-core.ts";
import { isQueueOfTopic } from "../topics/queue-name.ts";
import type { Topics } from "../topics/topics.ts";
import { deadLetterJson, deadLetterShape } from "./dead-letter.ts";
import { PAGE_BYTES } from "./inspect.ts";
import { deadLettersByName, resolveName, topicIn } from "./names.ts";
import { named } from "./published-manage.ts";

/** Names of queues and topics as kinds of brokers in published clients. */
const BROKER_TYPES = { queue: "function_queue", topic: "builtin" } as const;

/**
 * Provides the functions with which published clients read queues, with the ids and shapes that these clients expect.
 * For a topic, a function reads the queues of all subscriptions of the topic.
 */
export function providePublishedInspectFunctions(
  { provideFunction }: Pick<ModuleContext<unknown>, "provideFunction">,
  core: QueueCore,
  topics: Topics,
): void {
  provideFunction({
    id: "engine::queue::list_topics",
    summary: "Lists topics with the number of their subscriptions, and queues with their concurrency",
    polled: true,
    input: z.unknown(),
    output: z.array(z.object({ name: z.string(), broker_type: z.string(), subscriber_count: z.int() })),
    async handle() {
      const waiting = (await core.store.call("backlogs", null)).map(({ topic }) => topic);
      const ofTopics = [...new Set([...topics.names(), ...waiting])].map((name) => ({
        name,
        broker_type: BROKER_TYPES.topic,
        subscriber_count: topics.queuesOf(name).length,
      }));
      const ofQueues = core
        .names()
        .filter((name) => !isQueueOfTopic(name))
        .map((name) => ({
          name,
          broker_type: BROKER_TYPES.queue,
          subscriber_count: core.settingsOf(name)?.concurrency ?? 0,
        }));
      return [...ofTopics, ...ofQueues];
    },
  });
  provideFunction({
    id: "engine::queue::topic_stats",
    summary: "Returns the depth and the number of consumers of a topic or queue",
    polled: true,
    input: z.object(named),
    output: z.object({
      depth: z.int().meta({ description: "Waiting, delayed and running jobs" }),
      consumer_count: z
        .int()
        .meta({ description: "Topic: subscriptions whose workers are connected. Queue: its concurrency" }),
      dlq_depth: z.int(),
      config: z.unknown(),
    }),
    async handle(input) {
      topicIn(input);
      const { name, kind, queues } = await resolveName(input, core, topics);
      const counts = await Promise.all(queues.map((queue) => core.counts(queue)));
      const backlog =
        kind === "topic" ? (await core.store.call("backlogs", null)).find(({ topic }) => topic === name) : undefined;
      return {
        depth: counts.reduce(
          (sum, { waiting, delayed, active }) => sum + waiting + delayed + active,
          backlog?.messages ?? 0,
        ),
        consumer_count: kind === "topic" ? topics.consumersOf(name) : (core.settingsOf(name)?.concurrency ?? 0),
        dlq_depth: counts.reduce((sum, { dead }) => sum + dead, 0),
        config: configOf(core, queues[0]),
      };
    },
  });
  provideFunction({
    id: "engine::queue::dlq_topics",
    summary: "Lists topics and queues that have dead letters",
    input: z.unknown(),
    output: z.array(z.object({ topic: z.string(), broker_type: z.string(), message_count: z.int() })),
    async handle() {
      const found = deadLettersByName(await core.store.call("counts", null));
      return found.map(({ name, kind, letters }) => ({
        topic: name,
        broker_type: BROKER_TYPES[kind],
        message_count: letters,
      }));
    },
  });
  provideFunction({
    id: "engine::queue::dlq_messages",
    summary: "Returns dead letters of a topic or queue with their failures, the latest of each queue first",
    input: z.object({ ...named, offset: z.int().min(0).default(0), limit: z.int().min(1).max(1_000).default(50) }),
    output: z.array(deadLetterShape),
    async handle(input) {
      topicIn(input);
      const { queues } = await resolveName(input, core, topics);
      return Payload.fromText(`[${(await deadLettersOf(core, queues, input)).join(",")}]`);
    },
  });
}

/** Returns a page of the queues' dead letters as one list. The page ends early at the byte limit. */
async function deadLettersOf(
  core: QueueCore,
  queues: readonly string[],
  page: { readonly offset: number; readonly limit: number },
): Promise<string[]> {
  const found: string[] = [];
  let { offset } = page;
  let room = PAGE_BYTES;
  for (const queue of queues) {
    const { dead } = await core.counts(queue);
    if (offset < dead) {
      const limit = page.limit - found.length;
      const letters = await core.store.call("peek", { queue, state: "dead", offset, limit, maxBytes: room });
      const texts = letters.map(deadLetterJson);
      found.push(...texts);
      room -= texts.reduce((sum, { length }) => sum + length, 0);
      if (found.length >= page.limit || room <= 0 || letters.length < dead - offset) break;
    }
    offset = Math.max(0, offset - dead);
  }
  return found;
}

function configOf(core: QueueCore, queue: string | undefined): unknown {
  const settings = queue === undefined ? undefined : core.settingsOf(queue);
  if (settings === undefined) return null;
  const { type, concurrency, maxAttempts, backoff, groupField } = settings;
  return {
    type,
    concurrency,
    max_retries: maxAttempts,
    backoff_ms: backoff.firstMs,
    backoff_type: backoff.growth,
    message_group_field: groupField ?? null,
  };
}
