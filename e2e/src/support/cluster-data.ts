// What an engine stores of each kind, and all of it as it can be read at an engine, for comparing.
import type { Worker } from "@svc-runtime/sdk";
import { eventually } from "./processes.ts";

const HOUR_MS = 3_600_000;
const SCOPE = "shop";
/** Queues of the config: jobs of `mail` wait, those of `broken` fail and wait for the next attempt, or are dead letters. */
const QUEUES = ["mail", "broken"] as const;
const STATES = ["waiting", "delayed", "active", "dead", "done"] as const;

export const MODULES = `workers:
  - name: svc-state
  - name: svc-cron
  - name: svc-queue
    config: {queue_configs: {mail: {concurrency: 1}, broken: {max_attempts: 2, backoff_ms: 900000, backoff_type: fixed}}}
`;

export const call = <Result>(client: Worker, function_id: string, payload: object): Promise<Result> =>
  client.call({ function_id, payload, timeoutMs: 30_000 }) as Promise<Result>;

/** Registers what the jobs and the schedule call. Resolves when the schedule is registered, with its id. */
export async function serve(worker: Worker, onMail: (data: unknown) => void): Promise<string> {
  worker.registerFunction("mail::send", (data) => {
    onMail(data);
    return null;
  });
  worker.registerFunction("broken::run", () => {
    throw new Error("it is broken");
  });
  worker.registerFunction("report::make", ({ job_id }: { readonly job_id: string }) => {
    if (job_id === "") throw new Error("there is no job");
    return null;
  });
  const trigger = worker.registerTrigger({
    type: "cron",
    function_id: "report::make",
    config: { expression: "0 0 0 1 1 *" },
  });
  const { status, reason } = await trigger.registered;
  if (status === "error") throw new Error(`the schedule was refused: ${reason}`);
  return trigger.id;
}

/** Stores items, one of which expires, jobs in each state, a schedule's history, and pauses. */
export async function fill(client: Worker, trigger: string): Promise<void> {
  await call(client, "state::set", { scope: SCOPE, key: "plain", value: { text: "ünïcode", list: [1, 2, 3] } });
  await call(client, "state::set", { scope: SCOPE, key: "written twice", value: 1 });
  await call(client, "state::set", { scope: SCOPE, key: "written twice", value: 2 });
  await call(client, "state::set", { scope: SCOPE, key: "expires", value: 1, expires_in_ms: HOUR_MS });
  await call(client, "state::set", { scope: SCOPE, key: "deleted", value: 1 });
  await call(client, "state::delete", { scope: SCOPE, key: "deleted" });

  await call(client, "queue::enqueue", { queue: "mail", function_id: "mail::send", data: "done" });
  await eventually("a job is done", async () => (await jobsOf(client, "mail", "done")).length === 1);
  await call(client, "queue::pause", { queue: "mail" });
  const mail = { queue: "mail", function_id: "mail::send" };
  await call(client, "queue::enqueue", { ...mail, data: { to: "a" } });
  await call(client, "queue::enqueue", { ...mail, data: { to: "b" }, priority: 5, group: "g", dedupe_key: "once" });
  await call(client, "queue::enqueue", { ...mail, data: { to: "c" }, delay_ms: HOUR_MS });
  const broken = { queue: "broken", function_id: "broken::run" };
  await call(client, "queue::enqueue", { ...broken, data: "dead", max_attempts: 1 });
  await call(client, "queue::enqueue", { ...broken, data: "failed once" });
  await eventually("a job is a dead letter, and one waits for its next attempt", async () => {
    const counts = await Promise.all([jobsOf(client, "broken", "dead"), jobsOf(client, "broken", "delayed")]);
    return counts.every(({ length }) => length === 1);
  });

  await call(client, "cron::trigger_now", { trigger_id: trigger });
  await call(client, "cron::pause", { trigger_id: trigger });
}

type Row = Readonly<Record<string, unknown>>;

export async function jobsOf(client: Worker, queue: string, state: (typeof STATES)[number]): Promise<readonly Row[]> {
  const { jobs } = await call<{ readonly jobs: readonly Row[] }>(client, "queue::peek", { queue, state });
  return jobs;
}

/** Returns all that `fill` stored, as an engine shows it. */
export async function stored(client: Worker, trigger: string): Promise<Row> {
  const { items } = await call<{ readonly items: readonly Row[] }>(client, "state::entries", { scope: SCOPE });
  const jobs: Record<string, readonly Row[]> = {};
  for (const queue of QUEUES)
    for (const state of STATES) jobs[`${queue} ${state}`] = await jobsOf(client, queue, state);
  const { queues } = await call<{ readonly queues: readonly Row[] }>(client, "queue::list", {});
  const { runs } = await call<{ readonly runs: readonly Row[] }>(client, "cron::history", { trigger_id: trigger });
  return { items, jobs, paused: queues.filter(({ paused }) => paused).map(({ queue }) => queue), runs };
}
