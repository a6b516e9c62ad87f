import { elementTexts, memberTexts } from "@svc-runtime/protocol/json-text";
import type { DoneJob, ListedJobState, QueueJob } from "@svc-runtime/protocol/listings";
import { maskJson } from "@svc-runtime/protocol/secrets";
import { formatJson } from "../terminal/json-format.ts";
import { formatDuration } from "../terminal/progress.ts";
import { table } from "../terminal/table.ts";
import { ago } from "../terminal/times.ts";

/**
 * A job as returned by `queue::peek`. `shown` is its data on one line, with secrets masked; for a done job its result.
 */
type Job = (QueueJob | DoneJob) & { readonly shown: string };

/** Reads the jobs from the result of `queue::peek`. */
export function readJobs(json: string): { readonly jobs: readonly Job[]; readonly cursor: string | null } {
  const { jobs, cursor } = JSON.parse(json) as { readonly jobs: readonly Job[]; readonly cursor: string | null };
  // Take the data from the text, because JSON.parse would round large numbers.
  const shown = elementTexts(memberTexts(json).get("jobs") ?? "[]").map((job) => {
    const members = memberTexts(job);
    return maskJson(formatJson(members.get("data") ?? members.get("result") ?? "", "line"));
  });
  return { jobs: jobs.map((job, index) => ({ ...job, shown: shown[index] ?? "" })), cursor };
}

/** Headings of the columns that depend on the state: the time, one more fact for some states, and the data. */
const HEADS: Readonly<Record<ListedJobState, readonly [time: string, ...string[]]>> = {
  waiting: ["ADDED", "DATA"],
  active: ["ADDED", "PROGRESS", "DATA"],
  delayed: ["RUNS", "DATA"],
  dead: ["DIED", "ERROR", "DATA"],
  done: ["ENDED", "TOOK", "RESULT"],
};

/** Returns the jobs as a table. `columns` is the width of the terminal. */
export function jobTable(jobs: readonly Job[], state: ListedJobState, columns: number | undefined): string {
  const hasReasons = jobs.some((job) => reasonOf(job) !== "");
  const heads = ["JOB", "FUNCTION", "FAILED", ...HEADS[state], ...(hasReasons ? ["REASON"] : [])];
  const rows = jobs.map((job) => [
    job.job_id,
    job.function_id ?? "(triggers)",
    `${job.attempts}/${job.max_attempts}`,
    ago(Date.parse(timeOf(job))),
    ...(state === "dead" ? [job.failures.at(-1)?.message ?? ""] : []),
    ...(state === "active" ? [progressText(job)] : []),
    ...(job.state === "done" ? [formatDuration(job.duration_ms)] : []),
    job.state === "done" && !job.result_kept ? "(not kept)" : job.shown,
    ...(hasReasons ? [reasonOf(job)] : []),
  ]);
  const below = state === "dead" ? "ERROR" : hasReasons ? "REASON" : undefined;
  return table(heads, rows, { columns, whole: ["JOB", "FUNCTION"], ...(below === undefined ? {} : { below }) });
}

function timeOf(job: Job): string {
  return job.state === "done" ? job.ended_at : (job.failed_at ?? job.run_at ?? job.created_at);
}

function reasonOf(job: Job): string {
  return job.state === "done" ? "" : (job.reason ?? "");
}

function progressText(job: Job): string {
  if (job.state === "done" || job.progress == null) return "";
  const { value, note } = job.progress;
  return [`${Math.floor(value * 100)} %`, ...(note === null ? [] : [note])].join(" ");
}
