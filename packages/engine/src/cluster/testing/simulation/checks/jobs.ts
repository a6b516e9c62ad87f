import type { LeasedJob, NewJob } from "../../../../modules/queue/store/job.ts";
import type { AppliedRequest, LogObserver } from "../observed-log.ts";
import type { Violations } from "../violations.ts";
import type { Execution, QueueWatcher } from "../workload/queue-workload.ts";
import type { MemberModel } from "./members.ts";

const STORE = "queue.db";
const LEASES = "one lease at a time";
const OUTCOMES = "each job is completed, dead or waiting";

interface ModelJob {
  readonly id: string;
  readonly group: string | undefined;
  readonly priority: number;
  state: "waiting" | "leased" | "done" | "dead" | "cancelled";
  run: string;
  take: number;
}

/** State of a job after its holder wrote this. */
const STATE_AFTER = {
  done: "done",
  deadLetter: "dead",
  drop: "cancelled",
  retry: "waiting",
  release: "waiting",
} as const;

/** The jobs as they should be, by what was written to the log. Jobs are in the order of their acceptance. */
export class JobModel implements LogObserver, QueueWatcher {
  readonly #violations: Violations;
  readonly #members: MemberModel;
  readonly #jobs = new Map<string, ModelJob>();
  readonly #bySeq = new Map<number, ModelJob>();
  readonly #executions: Execution[] = [];

  constructor(violations: Violations, members: MemberModel) {
    this.#violations = violations;
    this.#members = members;
  }

  onRequest({ store, procedure, input, output, isDone }: AppliedRequest): void {
    if (store !== STORE || !isDone) return;
    if (procedure === "add") this.#added(input as { jobs: readonly NewJob[] });
    else if (procedure === "take")
      this.#taken(input as { run: string; take: number }, output as { jobs: readonly LeasedJob[] });
    else if (procedure === "addAndTake") {
      const { jobs, take } = input as { jobs: readonly NewJob[]; take: { run: string; take: number } };
      this.#added({ jobs });
      this.#taken(take, (output as { taken: { jobs: readonly LeasedJob[] } }).taken);
    } else if (procedure === "recover") {
      const { members } = input as { members: readonly string[] };
      this.#released(
        output as number,
        ({ run }) => !members.includes(run) && !this.#members.members(STORE).includes(run),
      );
    } else if (procedure === "cancel")
      this.#cancelled(input as { id: string }, output as { state: string } | undefined);
    else if (procedure === "releaseRuns") {
      const { runs } = input as { runs: readonly string[] };
      for (const run of runs)
        if (this.#members.members(STORE).includes(run))
          this.#violations.add(LEASES, `jobs of ${run}, which is a member, return to the queue`);
      this.#released(output as number, (job) => runs.includes(job.run));
    } else if (procedure === "undoTake") {
      const { run, take } = input as { run: string; take: number };
      this.#released(output as number, (job) => job.run === run && job.take === take);
    } else if (
      procedure === "done" ||
      procedure === "retry" ||
      procedure === "release" ||
      procedure === "deadLetter" ||
      procedure === "drop"
    )
      this.#ended(procedure, input as { seq: number; run: string });
  }

  /** Checks that no other engine that may still write runs the job. */
  onBegin(execution: Execution): void {
    const { job, life, run } = execution;
    const members = life.stores.get(STORE)?.store.members() ?? [];
    for (const other of this.#executions)
      if (
        other.job === job &&
        other.outcome === "running" &&
        other.life.process.state !== "dead" &&
        (other.life === life || members.includes(other.run))
      )
        this.#violations.add(
          LEASES,
          `job ${job} begins at ${life.process.name} and runs at ${other.life.process.name}`,
        );
    if (!members.includes(run)) this.#violations.add(LEASES, `job ${job} begins in a run that is no member`);
    this.#executions.push(execution);
  }

  /** Checks the end of the run: all jobs that were acknowledged are found, and none is left. */
  finish(acknowledged: ReadonlySet<string>): void {
    for (const id of acknowledged)
      if (!this.#jobs.has(id)) this.#violations.add("acknowledged is found", `job ${id} is lost`);
    for (const { id, state, run } of this.#jobs.values())
      if (state === "waiting" || state === "leased") this.#violations.add(OUTCOMES, `job ${id} is ${state} ${run}`);
  }

  count(state: ModelJob["state"]): number {
    return [...this.#jobs.values()].filter((job) => job.state === state).length;
  }

  #added({ jobs }: { readonly jobs: readonly NewJob[] }): void {
    for (const { id, group, priority } of jobs) {
      if (this.#jobs.has(id)) this.#violations.add("written once", `job ${id} was added twice`);
      this.#jobs.set(id, { id, group, priority, state: "waiting", run: "", take: 0 });
    }
  }

  #taken(
    input: { readonly run: string; readonly take: number },
    { jobs }: { readonly jobs: readonly LeasedJob[] },
  ): void {
    let priority = Number.POSITIVE_INFINITY;
    for (const { id, seq } of jobs) {
      const job = this.#jobs.get(id);
      if (job === undefined || job.state !== "waiting") {
        this.#violations.add(LEASES, `job ${id} was taken and is ${job?.state} ${job?.run}`);
        continue;
      }
      if (job.priority > priority)
        this.#violations.add("order of jobs", `job ${id} was taken after one of lower priority`);
      priority = job.priority;
      for (const other of this.#jobs.values()) {
        if (other === job) break;
        if (
          job.group !== undefined &&
          other.group === job.group &&
          (other.state === "waiting" || other.state === "leased")
        )
          this.#violations.add(
            "order of jobs",
            `job ${id} of group ${job.group} was taken before job ${other.id} ended`,
          );
      }
      Object.assign(job, { state: "leased", run: input.run, take: input.take });
      this.#bySeq.set(seq, job);
    }
  }

  #cancelled({ id }: { readonly id: string }, found: { readonly state: string } | undefined): void {
    const job = this.#jobs.get(id);
    if (job === undefined || found === undefined || found.state === "active") return;
    const isFinal = found.state === "dead" || found.state === "done";
    if (isFinal !== (job.state !== "waiting"))
      this.#violations.add(OUTCOMES, `job ${id} is ${job.state}, not ${found.state}`);
    if (!isFinal) job.state = "cancelled";
  }

  #released(count: number, isReleased: (job: ModelJob) => boolean): void {
    const released = [...this.#jobs.values()].filter((job) => job.state === "leased" && isReleased(job));
    if (released.length !== count)
      this.#violations.add(LEASES, `${count} jobs returned to the queue, not ${released.length}`);
    for (const job of released) job.state = "waiting";
  }

  #ended(
    how: "done" | "retry" | "release" | "deadLetter" | "drop",
    { seq, run }: { readonly seq: number; readonly run: string },
  ): void {
    const job = this.#bySeq.get(seq);
    if (job === undefined || job.state !== "leased" || job.run !== run) {
      this.#violations.add(LEASES, `${how} of job ${job?.id} by ${run}, but it is ${job?.state} ${job?.run}`);
      return;
    }
    if (
      how === "done" &&
      !this.#executions.some((one) => one.job === job.id && one.run === run && one.outcome === "done")
    )
      this.#violations.add(OUTCOMES, `job ${job.id} is done, but no handler succeeded in run ${run}`);
    job.state = STATE_AFTER[how];
  }
}
