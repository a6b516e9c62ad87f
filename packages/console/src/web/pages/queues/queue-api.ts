import type { EndedJob, ListedJobState, QueueStats } from "@svc-runtime/protocol/listings";
import { call, callText } from "../../lib/api.ts";
import { type Job, type JobPage, readJob, readJobPage, type TopicRow } from "./model.ts";

// Calls of the engine's functions. The data of jobs is passed as text, so that numbers keep all digits.

/** Maximum number of ids per call, which is a limit of the engine. */
const MAX_IDS = 1_000;

export interface Overview {
  readonly queues: readonly QueueStats[];
  readonly topics: readonly TopicRow[];
}

export async function fetchOverview(signal: AbortSignal): Promise<Overview> {
  const [{ queues }, topics] = await Promise.all([
    call<{ readonly queues: readonly QueueStats[] }>("queue::list", {}, { signal }),
    call<readonly TopicRow[]>("engine::queue::list_topics", {}, { signal }),
  ]);
  return { queues, topics };
}

export async function fetchJobs(
  queue: string,
  state: ListedJobState,
  cursor: string | null,
  signal?: AbortSignal,
): Promise<JobPage> {
  return readJobPage(
    await callText(
      "queue::peek",
      JSON.stringify({ queue, state, cursor, limit: 100 }),
      signal === undefined ? {} : { signal },
    ),
  );
}

/** Returns the IDs of all dead letters of a queue. */
export async function allDeadIds(queue: string): Promise<readonly string[]> {
  const ids: string[] = [];
  let cursor: string | null = null;
  do {
    const page: JobPage = await fetchJobs(queue, "dead", cursor);
    ids.push(...page.jobs.map(({ job_id }) => job_id));
    cursor = page.cursor;
  } while (cursor !== null);
  return ids;
}

export async function fetchJob(jobId: string, signal: AbortSignal): Promise<Job | EndedJob> {
  return readJob(await callText("queue::get_job", JSON.stringify({ job_id: jobId }), { signal }));
}

/**
 * Returns the number of messages that wait in a topic. If it has no subscription yet, messages are kept for the first
 * one, and these are counted too.
 */
export async function fetchTopicDepth(topic: string, signal: AbortSignal): Promise<number> {
  return (await call<{ readonly depth: number }>("engine::queue::topic_stats", { topic }, { signal })).depth;
}

export const setPaused = (queue: string, isPaused: boolean): Promise<unknown> =>
  call(isPaused ? "queue::pause" : "queue::resume", { queue });
export const purge = (queue: string): Promise<unknown> => call("queue::purge", { queue });
export const cancelJob = (jobId: string): Promise<unknown> => call("queue::cancel", { job_id: jobId });
export const redriveAll = (queue: string): Promise<unknown> =>
  call("queue::redrive", { queue }, { timeoutMs: 300_000 });

export async function redrive(queue: string, jobIds: readonly string[]): Promise<void> {
  for (const ids of chunks(jobIds)) await call("queue::redrive", { queue, job_ids: ids });
}

/** Moves a dead letter back to its queue, with new data. */
export async function redriveWith(queue: string, jobId: string, json: string): Promise<void> {
  await callText("queue::redrive", `{${JSON.stringify({ queue, job_ids: [jobId] }).slice(1, -1)},"payload":${json}}`);
}

export async function discard(queue: string, jobIds: readonly string[]): Promise<void> {
  for (const ids of chunks(jobIds)) await call("queue::discard", { queue, job_ids: ids });
}

export interface NewJob {
  readonly queue: string;
  readonly functionId: string;
  readonly json: string;
  readonly delayMs: number | undefined;
  readonly dedupeKey: string;
}

/** Adds a job. If `duplicate` is true, a job with the same dedupe key exists, and `job_id` is its id. */
export async function enqueue(job: NewJob): Promise<{ readonly job_id: string; readonly duplicate: boolean }> {
  const { queue, functionId, json, delayMs, dedupeKey } = job;
  const members = {
    queue,
    function_id: functionId || undefined,
    delay_ms: delayMs,
    dedupe_key: dedupeKey || undefined,
  };
  return JSON.parse(await callText("queue::enqueue", `{${JSON.stringify(members).slice(1, -1)},"data":${json}}`)) as {
    job_id: string;
    duplicate: boolean;
  };
}

export async function publish(
  topic: string,
  json: string,
): Promise<{ readonly message_id: string; readonly subscriptions: number }> {
  const text = await callText("svc::durable::publish", `{"topic":${JSON.stringify(topic)},"data":${json}}`);
  return JSON.parse(text) as { message_id: string; subscriptions: number };
}

function chunks(ids: readonly string[]): readonly (readonly string[])[] {
  return Array.from({ length: Math.ceil(ids.length / MAX_IDS) }, (_, at) =>
    ids.slice(at * MAX_IDS, (at + 1) * MAX_IDS),
  );
}
