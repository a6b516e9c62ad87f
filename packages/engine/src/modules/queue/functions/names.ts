import { CallError } from "@svc/protocol";
import type { QueueCore } from "../queue-core.ts";
import type { QueueCounts } from "../store/job.ts";
import { isQueueOfTopic, subscriptionOfQueue } from "../topics/queue-name.ts";
import type { Topics } from "../topics/topics.ts";

/** How published clients name a queue or a topic: either member names either of the two. */
export interface Named {
  readonly queue?: string | null | undefined;
  readonly topic?: string | null | undefined;
}

/** Throws CallError `queue_not_set`. */
export function nameIn({ queue, topic }: Named): string {
  const name = queue || topic;
  if (!name) throw new CallError("queue_not_set", "Queue name is required");
  return name;
}

/** Throws CallError `topic_required`. */
export function topicIn({ queue, topic }: Named): string {
  const name = topic || queue;
  if (!name) throw new CallError("topic_required", "topic is required");
  return name;
}

/** Throws CallError `message_id_not_set`. */
export function messageIn({ message_id: id }: { readonly message_id?: string | null | undefined }): string {
  if (!id) throw new CallError("message_id_not_set", "Message ID is required");
  return id;
}

export interface Meant {
  readonly name: string;
  readonly kind: "queue" | "topic";
  /** Of a topic: those of its subscriptions, also of former ones that left dead letters. */
  readonly queues: readonly string[];
}

/**
 * What a name stands for. Where there are both a queue and a topic of the name, the member that it came in decides: `queue` is tried as a queue first,
 * `topic` as a topic. Rejects with CallError `queue_not_found`.
 */
export async function meantBy(named: Named, core: QueueCore, topics: Topics): Promise<Meant> {
  const name = nameIn(named);
  const counts = await core.store.call("counts", null);
  const isQueue = core.settingsOf(name) !== undefined || counts.some(({ queue }) => queue === name);
  const queues = queuesOfTopic(name, topics, counts);
  const isTopic = queues.length > 0 || (await core.store.call("backlogs", null)).some(({ topic }) => topic === name);
  if (isTopic && (!isQueue || !named.queue)) return { name, kind: "topic", queues };
  if (isQueue) return { name, kind: "queue", queues: [name] };
  throw new CallError("queue_not_found", `Queue '${name}' not found`, { details: { queue: name } });
}

function queuesOfTopic(topic: string, topics: Topics, counts: readonly QueueCounts[]): string[] {
  const former = counts.filter(({ queue, dead }) => dead > 0 && subscriptionOfQueue(queue)?.topic === topic).map(({ queue }) => queue);
  return [...new Set([...topics.queuesOf(topic), ...former])];
}

/** Dead letters by queue, and those of all subscriptions of a topic together. */
export function lettersByName(counts: readonly QueueCounts[]): { readonly name: string; readonly kind: "queue" | "topic"; readonly letters: number }[] {
  const topics = new Map<string, number>();
  const queues: { readonly name: string; readonly kind: "queue"; readonly letters: number }[] = [];
  for (const { queue, dead } of counts) {
    if (dead === 0) continue;
    const topic = isQueueOfTopic(queue) ? subscriptionOfQueue(queue)?.topic : undefined;
    if (topic === undefined) queues.push({ name: queue, kind: "queue", letters: dead });
    else topics.set(topic, (topics.get(topic) ?? 0) + dead);
  }
  return [...queues, ...[...topics].map(([name, letters]) => ({ name, kind: "topic" as const, letters }))];
}
