import { Payload } from "@svc/protocol";
import { z } from "zod";
import type { ModuleContext } from "../../../kernel/module.ts";
import type { QueueCore } from "../queue-core.ts";
import { isQueueOfTopic } from "../topics/queue-name.ts";
import type { Topics } from "../topics/topics.ts";
import { letterShape, letterText } from "./letter.ts";
import { PAGE_BYTES } from "./looking.ts";
import { lettersByName, meantBy, topicIn } from "./names.ts";
import { named } from "./published-managing.ts";

/** What published clients know the two kinds as. */
const BROKER_TYPES = { queue: "function_queue", topic: "builtin" } as const;

/** What there is, by the ids and in the shapes that published clients know. A topic stands for the queues of all its subscriptions. */
export function providePublishedLooking({ provideFunction }: Pick<ModuleContext<unknown>, "provideFunction">, core: QueueCore, topics: Topics): void {
  provideFunction({
    id: "engine::queue::list_topics",
    summary: "Topics with the number of their subscriptions, and queues with their concurrency",
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
        .map((name) => ({ name, broker_type: BROKER_TYPES.queue, subscriber_count: core.settingsOf(name)?.concurrency ?? 0 }));
      return [...ofTopics, ...ofQueues];
    },
  });
  provideFunction({
    id: "engine::queue::topic_stats",
    summary: "What waits for a topic or queue, and how much of it is taken at a time",
    input: z.object(named),
    output: z.object({
      depth: z.int().meta({ description: "What waits, is delayed or runs" }),
      consumer_count: z.int().meta({ description: "Of a topic its subscriptions that somebody serves at present; of a queue its concurrency" }),
      dlq_depth: z.int(),
      config: z.unknown(),
    }),
    async handle(input) {
      topicIn(input);
      const { name, kind, queues } = await meantBy(input, core, topics);
      const counts = await Promise.all(queues.map((queue) => core.counts(queue)));
      const backlog = kind === "topic" ? (await core.store.call("backlogs", null)).find(({ topic }) => topic === name) : undefined;
      return {
        depth: counts.reduce((sum, { waiting, delayed, active }) => sum + waiting + delayed + active, backlog?.messages ?? 0),
        consumer_count: kind === "topic" ? topics.consumersOf(name) : (core.settingsOf(name)?.concurrency ?? 0),
        dlq_depth: counts.reduce((sum, { dead }) => sum + dead, 0),
        config: configOf(core, queues[0]),
      };
    },
  });
  provideFunction({
    id: "engine::queue::dlq_topics",
    summary: "Topics and queues that have dead letters",
    input: z.unknown(),
    output: z.array(z.object({ topic: z.string(), broker_type: z.string(), message_count: z.int() })),
    async handle() {
      const found = lettersByName(await core.store.call("counts", null));
      return found.map(({ name, kind, letters }) => ({ topic: name, broker_type: BROKER_TYPES[kind], message_count: letters }));
    },
  });
  provideFunction({
    id: "engine::queue::dlq_messages",
    summary: "Dead letters of a topic or queue, the latest of each queue first, with why they died",
    input: z.object({ ...named, offset: z.int().min(0).default(0), limit: z.int().min(1).max(1_000).default(50) }),
    output: z.array(letterShape),
    async handle(input) {
      topicIn(input);
      const { queues } = await meantBy(input, core, topics);
      return Payload.fromText(`[${(await lettersOf(core, queues, input)).join(",")}]`);
    },
  });
}

/** Queue after queue, as if their letters were one list. It ends early rather than exceed what a page may hold. */
async function lettersOf(core: QueueCore, queues: readonly string[], page: { readonly offset: number; readonly limit: number }): Promise<string[]> {
  const found: string[] = [];
  let { offset } = page;
  let room = PAGE_BYTES;
  for (const queue of queues) {
    const { dead } = await core.counts(queue);
    if (offset < dead) {
      const limit = page.limit - found.length;
      const letters = await core.store.call("peek", { queue, state: "dead", offset, limit, maxBytes: room });
      const texts = letters.map(letterText);
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
  return { type, concurrency, max_retries: maxAttempts, backoff_ms: backoff.firstMs, backoff_type: backoff.growth, message_group_field: groupField ?? null };
}
