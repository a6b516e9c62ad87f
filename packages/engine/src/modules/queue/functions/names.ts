import { CallError } from "@svc-runtime/protocol";
import type { FunctionSpec } from "../../../kernel/module.ts";
import type { QueueCore } from "../queue-core.ts";
import type { QueueCounts } from "../store/job.ts";
import { isQueueOfTopic, subscriptionOfQueue } from "../topics/queue-name.ts";
import type { Topics } from "../topics/topics.ts";

/** The name of a queue or topic. Published clients may send either kind of name in either member. */
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

export interface ResolvedName {
  readonly name: string;
  readonly kind: "queue" | "topic";
  /** For a topic: the queues of its subscriptions, and of former subscriptions with dead letters. */
  readonly queues: readonly string[];
}

/**
 * Returns the queue or topic that a name refers to. If a queue and a topic have the name, the member that holds it
 * decides: `queue` means the queue, `topic` means the topic. Rejects with CallError `queue_not_found`.
 */
export async function resolveName(named: Named, core: QueueCore, topics: Topics): Promise<ResolvedName> {
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
  const former = counts
    .filter(({ queue, dead }) => dead > 0 && subscriptionOfQueue(queue)?.topic === topic)
    .map(({ queue }) => queue);
  return [...new Set([...topics.queuesOf(topic), ...former])];
}

/** Returns the number of dead letters per queue and per topic. The number of a topic covers all its subscriptions. */
export function deadLettersByName(
  counts: readonly QueueCounts[],
): { readonly name: string; readonly kind: "queue" | "topic"; readonly letters: number }[] {
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

/** Returns the same function under the id that published clients use. Listings do not show it. */
export function publishedName<Input>(spec: FunctionSpec<Input>): FunctionSpec<Input> {
  return { ...spec, id: spec.id.replace(/^svc::/, "iii::"), internal: true };
}
