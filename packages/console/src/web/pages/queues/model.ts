import { elementTexts, memberTexts } from "@svc-runtime/protocol/json-text";
import type { DoneJob, EndedJob, ListedJobState, QueueJob, QueueStats } from "@svc-runtime/protocol/listings";
import { t } from "../../labels/translate.ts";
import { jsonProblem } from "../../lib/json-text.ts";
import { maskProblem } from "../../lib/mask-problem.ts";

export interface TopicRow {
  readonly name: string;
  readonly broker_type: string;
  readonly subscriber_count: number;
}

type CommonMember = keyof QueueJob & keyof DoneJob;

/**
 * A job. Members that not all states have are optional. `json` is the data of the job as it was stored; for a job that
 * is done, it is the result. It is text, so that numbers keep all digits.
 */
export interface Job
  extends Pick<QueueJob, Exclude<CommonMember, "state">>,
    Partial<Omit<QueueJob, CommonMember | "data">>,
    Partial<Omit<DoneJob, CommonMember | "result">> {
  readonly state: ListedJobState;
  readonly json: string;
}

export interface JobPage {
  readonly jobs: readonly Job[];
  readonly cursor: string | null;
  readonly size: number;
}

/** Parses the result of `queue::get_job`. */
export function readJob(text: string): Job | EndedJob {
  const members = memberTexts(text);
  const job: Record<string, unknown> = {};
  for (const [name, json] of members) if (name !== "data" && name !== "result") job[name] = JSON.parse(json);
  const data = members.get("data") ?? members.get("result");
  return (data === undefined ? job : { ...job, json: data }) as unknown as Job | EndedJob;
}

/** Parses the result of `queue::peek`. */
export function readJobPage(text: string): JobPage {
  const members = memberTexts(text);
  return {
    jobs: elementTexts(members.get("jobs") ?? "[]").map((job) => readJob(job) as Job),
    cursor: JSON.parse(members.get("cursor") ?? "null") as string | null,
    size: text.length,
  };
}

/**
 * Returns the function of a subscription's queue. The name of such a queue is `topic:TOPIC>FUNCTION`. A `>` in the
 * topic is escaped.
 */
export function functionOfSubscription(queue: string): string {
  return queue.slice(queue.indexOf(">") + 1);
}

/**
 * Returns the id of a topic's row. It is also the segment of its address. It differs from all names of queues: the
 * queue of a subscription contains `>`, and other queues must not begin with `topic:`.
 */
export function idOfTopic(topic: string): string {
  return `topic:${topic}`;
}

/** One row of the list. */
export interface Row {
  readonly id: string;
  readonly kind: "queue" | "topic" | "subscription";
  readonly label: string;
  readonly waiting: number | null;
  readonly active: number | null;
  readonly delayed: number | null;
  readonly dead: number | null;
  readonly paused: boolean;
  readonly subscriptions: number;
}

/**
 * Returns the rows: first the queues, then the topics, each followed by its subscriptions. `q` filters by the names of
 * queues, topics and functions.
 */
export function rowsOf(queues: readonly QueueStats[], topics: readonly TopicRow[], q: string): readonly Row[] {
  const has = (text: string): boolean => text.toLowerCase().includes(q.toLowerCase());
  const own = queues
    .filter(({ topic, queue }) => topic === null && has(queue))
    .map((stats) => rowOf(stats, "queue", stats.queue));
  const ofTopics = topicNames(queues, topics).flatMap((name) => {
    const subscriptions = queues.filter(({ topic }) => topic === name);
    const shown = subscriptions.filter(({ queue }) => has(name) || has(functionOfSubscription(queue)));
    if (shown.length === 0 && !has(name)) return [];
    return [
      topicRow(name, subscriptions),
      ...shown.map((stats) => rowOf(stats, "subscription", functionOfSubscription(stats.queue))),
    ];
  });
  return [...own, ...ofTopics];
}

function rowOf({ queue, waiting, active, delayed, dead, paused }: QueueStats, kind: Row["kind"], label: string): Row {
  return { id: queue, kind, label, waiting, active, delayed, dead, paused, subscriptions: 0 };
}

function topicRow(name: string, subscriptions: readonly QueueStats[]): Row {
  const sum = (of: (stats: QueueStats) => number): number | null =>
    subscriptions.length === 0 ? null : subscriptions.reduce((total, stats) => total + of(stats), 0);
  return {
    id: idOfTopic(name),
    kind: "topic",
    label: name,
    waiting: sum(({ waiting }) => waiting),
    active: sum(({ active }) => active),
    delayed: sum(({ delayed }) => delayed),
    dead: sum(({ dead }) => dead),
    paused: false,
    subscriptions: subscriptions.length,
  };
}

export type Selection =
  | { readonly kind: "queue"; readonly stats: QueueStats }
  | { readonly kind: "topic"; readonly name: string; readonly id: string }
  | undefined;

/**
 * Finds what a segment of the address selects. It may be the name of a queue or the id of a topic's row. In links of
 * other pages, it may also be the name of a topic.
 */
export function selectionOf(id: string, queues: readonly QueueStats[], topics: readonly TopicRow[]): Selection {
  const stats = queues.find(({ queue }) => queue === id);
  if (stats !== undefined) return { kind: "queue", stats };
  const name = topicNames(queues, topics).find((topic) => idOfTopic(topic) === id || topic === id);
  return name === undefined ? undefined : { kind: "topic", name, id: idOfTopic(name) };
}

/** Returns the title of the details. */
export function titleOf(selection: Selection): string | undefined {
  if (selection?.kind !== "queue") return selection?.name;
  const { queue, topic } = selection.stats;
  return topic === null ? queue : t`${functionOfSubscription(queue)} on ${topic}`;
}

function topicNames(queues: readonly QueueStats[], topics: readonly TopicRow[]): readonly string[] {
  const listed = topics.filter(({ broker_type }) => broker_type === "builtin").map(({ name }) => name);
  return [...new Set([...listed, ...queues.flatMap(({ topic }) => (topic === null ? [] : [topic]))])].sort();
}

/**
 * Returns why data that the user typed cannot be sent; undefined if it can. `original` is the data before it was
 * edited.
 */
export function dataProblem(json: string, original?: string): string | undefined {
  const syntaxError = jsonProblem(json);
  return syntaxError === undefined ? maskProblem(json, original) : t`Invalid JSON: ${syntaxError}`;
}
