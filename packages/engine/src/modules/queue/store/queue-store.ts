import type { Procedure, Store } from "../../../kernel/store-contract.ts";
import type {
  AddedJob,
  EndedState,
  FailedAttempt,
  JobState,
  JobView,
  KeepDone,
  LeasedJob,
  Maker,
  NewJob,
  Outcome,
  QueueCounts,
  QueueLimits,
  ReadyJob,
} from "./job.ts";
import type { BacklogBounds, BacklogCounts, BacklogMessage, Subscription } from "./topic.ts";

export interface TakeInput {
  readonly queue: string;
  readonly limit: number;
  /** Maximum jobs of restricted principals among the taken jobs. */
  readonly restrictedLimit: number;
  /** Maximum bytes of data of all taken jobs together. The first job is taken even if it exceeds the maximum. */
  readonly maxBytes: number;
  /** Functions whose jobs are not taken. `""` means jobs without a function. */
  readonly except: readonly string[];
  /** If set, only jobs of these functions are taken. */
  readonly only?: readonly string[] | undefined;
  /**
   * `restrictedAfter` of the previous take: the search for jobs of restricted principals continues after this function.
   * Undefined: the search starts at the first function.
   */
  readonly restrictedAfter?: string | undefined;
  /** The run that leases the jobs. A lease lasts until the run completes or releases the job, or is gone. */
  readonly run: string;
  /** Number of the take, unique within its run, for `undoTake`. */
  readonly take: number;
}

/** A job, and the run that wants to change it. Refused with `lease_lost` if the job is not leased by that run. */
export interface LeaseInput {
  readonly seq: number;
  readonly run: string;
}

export interface TakeOutput {
  readonly jobs: readonly LeasedJob[];
  /** More jobs may be ready. */
  readonly more: boolean;
  /** Jobs of restricted principals are ready, but `restrictedLimit` was reached. */
  readonly isHeldBack: boolean;
  /**
   * The function at which the search for jobs of restricted principals stopped. Undefined: it reached the last
   * function.
   */
  readonly restrictedAfter: string | undefined;
  /** Ready jobs of restricted principals were found. More may be left. */
  readonly foundRestricted: boolean;
  /** Time until the next delayed job is due. Undefined without delayed jobs. */
  readonly nextDueMs: number | undefined;
}

export interface AddAndTakeInput {
  readonly jobs: readonly NewJob[];
  readonly take: TakeInput;
}

export interface AddAndTakeOutput {
  readonly added: readonly AddedJob[];
  readonly taken: TakeOutput;
}

export interface CompleteOutput {
  readonly queue: string;
  /** The next job of the group may run, now or when it is due. */
  readonly unblocked: boolean;
}

export interface PeekInput {
  readonly queue: string;
  readonly state: JobState;
  /**
   * The last job of the previous page. `at` is `runAt` of a delayed job, `failedAt` of a dead letter, `expiresAt` of a
   * done job, and otherwise 0. Undefined: the first page. Waiting and active jobs are sorted by acceptance, delayed
   * jobs by the time when they are due. Dead letters and done jobs are sorted with the latest first.
   */
  readonly after?: { readonly seq: number; readonly at: number } | undefined;
  readonly offset?: number | undefined;
  readonly limit: number;
  /** Maximum bytes of data and failures. The page ends early at this limit but holds at least one job. */
  readonly maxBytes: number;
}

export interface RedriveInput {
  readonly queue: string;
  readonly ids?: readonly string[] | undefined;
  readonly payload?: { readonly data: string; readonly bytes: number; readonly maxBytes: number } | undefined;
  /** Functions that a restricted `maker` may call, each with its `provider` as in NewJob. */
  readonly functions?: readonly { readonly functionId: string; readonly provider: string | undefined }[] | undefined;
  /** The restricted principal that redrives the dead letters. */
  readonly maker?: Maker | undefined;
  readonly limits: QueueLimits;
  readonly limit: number;
}

export interface HasJobsOutput {
  readonly hasJobs: boolean;
  /** See `TakeOutput`. */
  readonly nextDueMs: number | undefined;
}

export interface SubscriptionHolder extends Pick<Subscription, "topic" | "functionId"> {
  /** The run that has a trigger of the subscription. Set only in a cluster. */
  readonly run?: string | undefined;
}

export type JobProcedures = {
  // Changes of state.
  /** Adds all jobs or none. Refuses with `queue_full`. */
  readonly add: Write<{ readonly jobs: readonly NewJob[] }, readonly AddedJob[]>;
  /**
   * Like `add`, then `take`. Jobs that the take gets at once are stored as leased: they are never written as waiting.
   * All jobs are of the take's queue. Refuses with `queue_full`.
   */
  readonly addAndTake: Write<AddAndTakeInput, AddAndTakeOutput>;
  readonly take: Write<TakeInput, TakeOutput>;
  /** Returns whether a take may get a job. */
  readonly hasJobs: Read<TakeInput, HasJobsOutput>;
  /** Releases the jobs of a take whose result was lost. Returns their number. */
  readonly undoTake: Write<{ readonly run: string; readonly take: number }, number>;
  /**
   * The handler succeeded. Keeps the job with its result, and deletes the oldest done jobs beyond the limits of `keep`.
   */
  readonly done: Write<Outcome & LeaseInput & { readonly keep: KeepDone }, CompleteOutput>;
  /**
   * Deletes up to `limit` done jobs whose time to be kept has ended. Returns their number; repeat until it is less than
   * `limit`.
   */
  readonly dropDone: Write<{ readonly limit: number }, number>;
  /** The handler failed: the job waits for `delayMs` and keeps its place in its group. */
  readonly retry: Write<LeaseInput & { readonly failure: FailedAttempt; readonly delayMs: number }, CompleteOutput>;
  /** The handler did not run: the job returns to its place with its attempts unchanged. */
  readonly release: Write<LeaseInput, CompleteOutput>;
  readonly deadLetter: Write<LeaseInput & { readonly failure: FailedAttempt }, CompleteOutput>;
  /**
   * Releases jobs whose lease belongs to a run that is not in `members`, because that run is gone. Returns their
   * number.
   */
  readonly recover: Write<{ readonly members: readonly string[] }, number>;
  /** Releases jobs that are leased by these runs, which are gone for good. Returns their number. */
  readonly releaseRuns: Write<{ readonly runs: readonly string[] }, number>;
  /** Deletes expired jobs. Returns their number, and the time until the next job expires. */
  readonly expire: Write<null, { readonly expired: number; readonly nextMs: number | undefined }>;

  // Management.
  /**
   * Deletes a waiting or delayed job. Returns the job's state before the call; undefined if there is no such job. An
   * active job is not deleted: the caller cancels its call and then calls `drop`.
   */
  readonly cancel: Write<
    { readonly id: string },
    { readonly queue: string; readonly state: JobState; readonly seq: number; readonly unblocked: boolean } | undefined
  >;
  /** Deletes an active job as cancelled. */
  readonly drop: Write<LeaseInput, CompleteOutput>;
  readonly setPaused: Write<{ readonly queue: string; readonly paused: boolean }, void>;
  /** Deletes up to `limit` waiting or delayed jobs. Returns their number; repeat until it is less than `limit`. */
  readonly purge: Write<{ readonly queue: string; readonly limit: number }, number>;
  /**
   * Returns dead letters to the end of their queue and group, with all their attempts available again. The jobs belong
   * to `maker` then. Without `ids`: up to `limit` dead letters, the oldest first; repeat until there are none. With
   * `ids`: all or none; refuses with `job_not_found` if one of `ids` is not a dead letter of the queue. Refuses with
   * `queue_full` in two cases: the new data exceeds `maxBytes`; a restricted `maker` has no room in its share. With
   * `functions`: if a job calls a function that is not in this list, changes nothing and returns that function.
   */
  readonly redrive: Write<RedriveInput, number | { readonly functionId: string }>;
  /** Deletes dead letters. With `ids`: all or none; refuses with `job_not_found`. Without `ids`: up to `limit`. */
  readonly discard: Write<
    { readonly queue: string; readonly ids?: readonly string[] | undefined; readonly limit: number },
    number
  >;

  // Topics.
  /**
   * Stores the subscription or its new config. Moves the messages of the topic's backlog to the queue of the
   * subscription, in order: each message becomes a job with the members of `job`. Returns the number of these jobs.
   */
  readonly subscribe: Write<
    {
      readonly topic: string;
      readonly functionId: string;
      readonly config: string;
      /** As in Subscription. */
      readonly owner: string;
      /** The run that has a trigger of the subscription. Set only in a cluster. */
      readonly run?: string | undefined;
      /** Maximum age of messages. Older messages are dropped. */
      readonly ageMs: number;
      readonly job: Omit<NewJob, "id" | "data" | "bytes" | "traceparent" | "baggage" | "maker">;
    },
    number
  >;
  /** Notes that the run has no trigger of the subscription any more. */
  readonly releaseSubscription: Write<SubscriptionHolder, void>;
  /** Ends the subscription if no other run has a trigger of it. Returns whether the subscription has ended. */
  readonly unsubscribe: Write<SubscriptionHolder, boolean>;
  /**
   * Deletes up to `limit` waiting or delayed jobs of a subscription that has ended. Returns their number; repeat until
   * it is less than `limit`. Deletes nothing if the function has subscribed again.
   */
  readonly purgeEnded: Write<
    Pick<Subscription, "topic" | "functionId"> & { readonly queue: string; readonly limit: number },
    number
  >;
  /**
   * Notes that these subscriptions have a trigger now. In a cluster, `run` has these triggers, and triggers of no other
   * subscriptions.
   */
  readonly touchSubscriptions: Write<
    {
      readonly subscriptions: readonly Pick<Subscription, "topic" | "functionId">[];
      readonly run?: string | undefined;
    },
    void
  >;
  /**
   * Adds a message to the backlog of its topic. Returns how many other messages were dropped: `old` because of their
   * age, `dropped` because of the bounds. Adds nothing if the topic has subscriptions.
   */
  readonly addToBacklog: Write<
    { readonly message: BacklogMessage; readonly bounds: BacklogBounds },
    { readonly old: number; readonly dropped: number; readonly hasSubscriptions?: boolean }
  >;
  /** Drops messages of at least this age. Returns their number; repeat until it is 0. */
  readonly dropOld: Write<{ readonly ageMs: number }, number>;
  readonly subscriptions: Read<null, readonly Subscription[]>;
  readonly backlogs: Read<null, readonly BacklogCounts[]>;

  // Queries, without full scans.
  readonly counts: Read<null, readonly QueueCounts[]>;
  readonly countsOf: Read<string, QueueCounts | undefined>;
  /**
   * Returns the ready jobs among the first 100 waiting jobs of the queue, in order of acceptance. `functionId`
   * undefined: the `JobServer` of the queue runs the job.
   */
  readonly oldestReady: Read<string, readonly ReadyJob[]>;
  readonly peek: Read<PeekInput, readonly JobView[]>;
  /** Returns a job by id, or only its final state if it has ended and its dedupe key is still remembered. */
  readonly job: Read<string, JobView | { readonly queue: string; readonly ended: EndedState } | undefined>;
};

type Write<Input, Output> = Procedure<Input, Output>;
type Read<Input, Output> = Procedure<Input, Output>;

/** Stores jobs in SQLite, in a file or in memory, with the same procedures. */
export type QueueStore = Store<JobProcedures>;
