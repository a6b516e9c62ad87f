const PREFIX = "topic:";
const SEPARATOR = ">";

/** Returns the queue of a subscription. The name is unique for each topic and function. */
export function queueOfSubscription(topic: string, functionId: string): string {
  return `${PREFIX}${topic.replaceAll("%", "%25").replaceAll(SEPARATOR, "%3E")}${SEPARATOR}${functionId}`;
}

/** Returns true for names reserved for subscriptions. The config may not use them. */
export function isQueueOfTopic(name: string): boolean {
  return name.startsWith(PREFIX);
}

/** Returns the subscription of a queue, or undefined if the queue belongs to none. */
export function subscriptionOfQueue(name: string): { readonly topic: string; readonly functionId: string } | undefined {
  const cut = name.indexOf(SEPARATOR);
  if (!isQueueOfTopic(name) || cut < 0) return undefined;
  const topic = name.slice(PREFIX.length, cut).replaceAll("%3E", SEPARATOR).replaceAll("%25", "%");
  return { topic, functionId: name.slice(cut + SEPARATOR.length) };
}
