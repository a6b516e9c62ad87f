import type { Procedure } from "../../../store/procedures.ts";
import type { Store } from "../../../store/store.ts";
import type { AddedJob, EndedState, FailedAttempt, JobState, JobView, Maker, NewJob, QueueCounts, QueueLimits, ReadyJob, TakenJob } from "./job.ts";
import type { BacklogBounds, BacklogCounts, BacklogMessage, Subscription } from "./topic.ts";

export interface TakeInput {
  readonly queue: string;
  readonly limit: number;
  /** Jobs of restricted principals among them. */
  readonly restrictedLimit: number;
  /** Together, of data; the first one is taken in any case. */
  readonly maxBytes: number;
  /** Functions that take no jobs at present; `""` stands for jobs without a function. */
  readonly except: readonly string[];
  /** Jobs of these functions alone; undefined: of all. */
  readonly only?: readonly string[] | undefined;
  /** `restrictedAfter` of the take before: jobs of restricted principals are looked for at the functions after this one. Undefined: at the first. */
  readonly restrictedAfter?: string | undefined;
  readonly now: number;
  /** This run of the engine: what another run has left as active is taken back. */
  readonly run: string;
  readonly leaseUntil: number;
}

export interface TakeOutput {
  readonly jobs: readonly TakenJob[];
  /** There may be more that could run at once. */
  readonly more: boolean;
  /** There are jobs of restricted principals that could run, but for `restrictedLimit`. */
  readonly isHeldBack: boolean;
  /** The function at which the search for jobs of restricted principals stopped, for the next take; undefined: it reached the last function. */
  readonly restrictedAfter: string | undefined;
  /** Ready jobs of restricted principals were found; some of them may be left. */
  readonly foundRestricted: boolean;
  /** When the next delayed job of the queue becomes due; undefined: there is none. */
  readonly nextDue: number | undefined;
}

/** `unblocked`: the next job of its group may run, now or when it is due. */
export interface EndOutput {
  readonly unblocked: boolean;
}

export interface PeekInput {
  readonly queue: string;
  readonly state: JobState;
  /**
   * The last one seen: its `seq`, and `at`, which is `runAt` of delayed ones, `failedAt` of dead ones, else 0; undefined: from the first. Order: of
   * acceptance; delayed ones of when they are due; dead ones of their death, the latest first.
   */
  readonly after?: { readonly seq: number; readonly at: number } | undefined;
  readonly offset?: number | undefined;
  readonly limit: number;
  /** Together, of data and of what is told of failures; the page ends early rather than exceed it, but holds at least one. */
  readonly maxBytes: number;
}

export interface RedriveInput {
  readonly queue: string;
  readonly ids?: readonly string[] | undefined;
  readonly payload?: { readonly data: string; readonly bytes: number; readonly maxBytes: number } | undefined;
  /** Functions that a restricted `maker` may have called, each with its `provider` as in NewJob. */
  readonly functions?: readonly { readonly functionId: string; readonly provider: string | undefined }[] | undefined;
  /** Who redrives them. */
  readonly maker?: Maker | undefined;
  readonly limits: QueueLimits;
  readonly limit: number;
  readonly now: number;
}

export type JobProcedures = {
  // Jobs on their way.
  /** All of them or none. Refuses `queue_full`. */
  readonly add: Write<{ readonly jobs: readonly NewJob[]; readonly now: number }, readonly AddedJob[]>;
  readonly take: Write<TakeInput, TakeOutput>;
  /** Leases of jobs in hand go on; jobs whose lease ran out and that nobody has in hand are given back. Answers their queues. */
  readonly renew: Write<{ readonly seqs: readonly number[]; readonly run: string; readonly now: number; readonly leaseUntil: number }, readonly string[]>;
  readonly done: Write<{ readonly seq: number }, EndOutput>;
  /** The handler ran and failed; it waits until `runAt` and keeps its place in its group. */
  readonly retry: Write<{ readonly seq: number; readonly failure: FailedAttempt; readonly runAt: number }, EndOutput>;
  /** The handler did not run: given back with its attempts unchanged, to its place. */
  readonly release: Write<{ readonly seq: number }, EndOutput>;
  readonly bury: Write<{ readonly seq: number; readonly failure: FailedAttempt }, EndOutput>;
  /** Gives back what earlier runs of the engine had in hand. Delays of retries longer than `maxDelayMs` are cut. Answers how many were in hand. */
  readonly recover: Write<{ readonly run: string; readonly now: number; readonly maxDelayMs: number }, number>;
  /** Drops what is past its end. Answers how many, and when the next one is. */
  readonly expire: Write<{ readonly now: number }, { readonly expired: number; readonly next: number | undefined }>;
  /** The clock was set: what was asked for as a duration moves along, and so does the age of messages and subscriptions. */
  readonly shift: Write<{ readonly byMs: number }, void>;

  // Management.
  /** Undefined: there is no such job. `active`: it runs; the caller withdraws the call and then `drop`s it. */
  readonly cancel: Write<
    { readonly id: string },
    { readonly queue: string; readonly state: JobState; readonly seq: number; readonly unblocked: boolean } | undefined
  >;
  /** Takes out a job in hand as cancelled. */
  readonly drop: Write<{ readonly seq: number }, EndOutput>;
  readonly setPaused: Write<{ readonly queue: string; readonly paused: boolean }, void>;
  /** Takes out jobs that wait or are delayed, so many at once. Answers how many; ask again until none. */
  readonly purge: Write<{ readonly queue: string; readonly limit: number }, number>;
  /**
   * Dead letters wait again, at the end of their queue and group, with all their attempts before them. `ids` undefined: `limit` of them, the oldest
   * first; ask again until none. With `ids` all of them or none: refuses `job_not_found` when one is not a dead letter of the queue. Refuses `queue_full`
   * when other data makes the queue hold more than `maxBytes`, or a restricted `maker` has no room in its share. The letters are `maker`'s then. With `functions` letters for other functions are not touched: if one is among those
   * asked for, nothing is changed and the answer names its function.
   */
  readonly redrive: Write<RedriveInput, number | { readonly functionId: string }>;
  /** Takes out dead letters. All of `ids` or none: refuses `job_not_found`. `ids` undefined: `limit` of them. */
  readonly discard: Write<{ readonly queue: string; readonly ids?: readonly string[] | undefined; readonly limit: number }, number>;

  // Topics.
  /** Remembers the subscription, or its new config, and puts what waits for the topic on its queue as `job`s, in order. Answers how many. */
  readonly subscribe: Write<
    {
      readonly topic: string;
      readonly functionId: string;
      readonly config: string;
      /** See Subscription. */
      readonly owner: string;
      readonly now: number;
      /** Messages that wait longer are dropped. */
      readonly ageMs: number;
      readonly job: Omit<NewJob, "id" | "data" | "bytes" | "traceparent" | "baggage" | "maker">;
    },
    number
  >;
  readonly unsubscribe: Write<Pick<Subscription, "topic" | "functionId">, void>;
  /** They are asked for at present. */
  readonly seen: Write<{ readonly subscriptions: readonly Pick<Subscription, "topic" | "functionId">[]; readonly now: number }, void>;
  /** Keeps a message for the first subscription of its topic. Answers how many others went for their age, and how many because there are too many. */
  readonly keep: Write<
    { readonly message: BacklogMessage; readonly now: number; readonly bounds: BacklogBounds },
    { readonly old: number; readonly dropped: number }
  >;
  /** Drops messages that wait since then or longer. Answers how many; ask again until none. */
  readonly dropOld: Write<{ readonly before: number }, number>;
  readonly subscriptions: Read<null, readonly Subscription[]>;
  readonly backlogs: Read<null, readonly BacklogCounts[]>;

  // Looking, without scans.
  readonly counts: Read<null, readonly QueueCounts[]>;
  readonly countsOf: Read<string, QueueCounts | undefined>;
  /**
   * Jobs of the queue that could run at once, those that were accepted first, among the first 100 that wait: since when (milliseconds since 1970) and for
   * whom; `functionId` undefined: for whoever serves the queue.
   */
  readonly oldestReady: Read<string, readonly ReadyJob[]>;
  readonly peek: Read<PeekInput, readonly JobView[]>;
  /** By the job's id. A text instead: it has ended, and its dedupe key is still remembered. */
  readonly job: Read<string, JobView | { readonly queue: string; readonly ended: EndedState } | undefined>;
};

type Write<Input, Output> = Procedure<Input, Output>;
type Read<Input, Output> = Procedure<Input, Output>;

/** Jobs in SQLite, in a file or in memory: the same procedures. */
export type QueueStore = Store<JobProcedures>;
