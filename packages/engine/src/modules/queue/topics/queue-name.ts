const OPENING = "topic:";
const BEFORE_FUNCTION = ">";

/** The queue of one function's messages of one topic. No two subscriptions have the same one, whatever their names hold. */
export function queueOfSubscription(topic: string, functionId: string): string {
  return `${OPENING}${topic.replaceAll("%", "%25").replaceAll(BEFORE_FUNCTION, "%3E")}${BEFORE_FUNCTION}${functionId}`;
}

/** Names of this kind belong to topics; no queue of the config may have one. */
export function isQueueOfTopic(name: string): boolean {
  return name.startsWith(OPENING);
}

/** The subscription that a queue is for; undefined for any other queue. */
export function subscriptionOfQueue(name: string): { readonly topic: string; readonly functionId: string } | undefined {
  const cut = name.indexOf(BEFORE_FUNCTION);
  if (!isQueueOfTopic(name) || cut < 0) return undefined;
  const topic = name.slice(OPENING.length, cut).replaceAll("%3E", BEFORE_FUNCTION).replaceAll("%25", "%");
  return { topic, functionId: name.slice(cut + BEFORE_FUNCTION.length) };
}
