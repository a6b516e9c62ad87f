import {
  converted,
  dataOrNull,
  helperClass,
  type Members,
  memberOf,
  nothing,
  wireMembers,
} from "../items/helper-methods.ts";
import { engineResult } from "../names/engine-result.ts";
import { checkedOptions, optionNames } from "../names/option-names.ts";
import type { JobToEnqueue } from "./queue-types.ts";
import type { WorkerQueue } from "./worker-queue.ts";

const JOB_OPTIONS = ["delayMs", "runAt", "priority", "dedupeKey", "expiresInMs", "group", "maxAttempts"] as const;
const JOB_MEMBERS = ["queue", "functionId", ...JOB_OPTIONS, "data"] as const;
const jobMembers = /* @__PURE__ */ optionNames("a job of queue.enqueueMany", JOB_MEMBERS);
/** Members of a job whose values are objects or lists that the engine defines. */
const JOB = { failures: {}, made_by: {} };

/** The methods of `WorkerQueue`. */
export class QueueCalls extends /* @__PURE__ */ helperClass<WorkerQueue>("queue", {
  enqueue: [
    "queue::enqueue",
    ["queue", "function_id", "data"],
    engineResult,
    JOB_OPTIONS,
    (job) => wireJob(dataOrNull(job)),
  ],
  enqueueMany: [
    "queue::enqueue_many",
    ["jobs"],
    /* @__PURE__ */ memberOf("jobs"),
    undefined,
    ({ jobs }) => ({
      jobs: (jobs as readonly JobToEnqueue[]).map((job) =>
        wireJob(wireMembers(checkedOptions(job, jobMembers), JOB_MEMBERS)),
      ),
    }),
  ],
  publish: ["svc::durable::publish", ["topic", "data"], nothing, undefined, dataOrNull],
  list: ["queue::list", [], /* @__PURE__ */ memberOf("queues")],
  stats: ["queue::stats", ["queue"], engineResult],
  peek: ["queue::peek", ["queue"], /* @__PURE__ */ converted({ jobs: JOB }), ["state", "cursor", "limit"]],
  getJob: ["queue::get_job", ["job_id"], /* @__PURE__ */ converted(JOB)],
  pause: ["queue::pause", ["queue"], nothing],
  resume: ["queue::resume", ["queue"], nothing],
  purge: ["queue::purge", ["queue"], /* @__PURE__ */ memberOf("purged")],
  cancel: ["queue::cancel", ["job_id"], nothing],
  redrive: ["queue::redrive", ["queue"], /* @__PURE__ */ memberOf("redriven"), ["jobIds", "payload"]],
  discard: ["queue::discard", ["queue", "job_ids"], /* @__PURE__ */ memberOf("discarded")],
}) {}

const RFC_3339 = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)$/;

/**
 * Returns a time in RFC 3339. Callers without types may pass any value.
 *
 * @throws TypeError for a value that is not a time.
 */
function instantOf(runAt: unknown): string {
  if (runAt instanceof Date && !Number.isNaN(runAt.getTime())) return runAt.toISOString();
  if (typeof runAt === "string" && RFC_3339.test(runAt) && !Number.isNaN(Date.parse(runAt))) return runAt;
  throw new TypeError(
    `runAt must be a Date or an RFC 3339 string such as 2026-03-01T09:00:00Z; it is ${typeof runAt === "string" ? `'${runAt}'` : String(runAt)}`,
  );
}

/** Returns a job in the form of the wire. JSON omits undefined members. */
function wireJob({ function_id, run_at, ...job }: Members): Members {
  return {
    function_id: function_id ?? undefined,
    run_at: run_at == null ? undefined : instantOf(run_at),
    ...job,
  };
}
