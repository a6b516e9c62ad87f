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
  /** Maximum jobs of restricted principals among them. */
  readonly restrictedLimit: number;
  /** Maximum bytes of data together. The first job is taken in any case. */
  readonly maxBytes: number;
  /** Functions whose jobs are not taken. `""` means jobs without a function. */
  readonly except: readonly string[];
  /** If set, only jobs of these functions are taken. */
  readonly only?: readonly string[] | undefined;
  /**
   * `restrictedAfter` of the previous take: the search for jobs of restricted principals continues after this function.
   * Undefined: it starts at the first.
   */
  readonly restrictedAfter?: string | undefined;
  /** The run that gets the jobs. They are its until it completes or releases them, or is gone. */
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
   * The last job of the previous page: its `seq`, and `at`, which is `runAt` of a delayed job, `failedAt` of a dead
   * one, `expiresAt` of a done one, and otherwise 0. Undefined: the first page. Jobs are in the order of acceptance,
   * delayed ones in the order of their due time, dead and done ones with the latest first.
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
  /** The restricted principal that redrives them. */
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
  /** Only in a cluster. */
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
  /** The handler succeeded. Keeps the job with its result within the limits of `keep`, and deletes older ones. */
  readonly done: Write<Outcome & LeaseInput & { readonly keep: KeepDone }, CompleteOutput>;
  /** Deletes up to `limit` done jobs that were kept long enough. Returns their number; repeat until it is less. */
  readonly dropDone: Write<{ readonly limit: number }, number>;
  /** The handler failed: the job waits for `delayMs` and keeps its place in its group. */
  readonly retry: Write<LeaseInput & { readonly failure: FailedAttempt; readonly delayMs: number }, CompleteOutput>;
  /** The handler did not run: the job returns to its place with its attempts unchanged. */
  readonly release: Write<LeaseInput, CompleteOutput>;
  readonly deadLetter: Write<LeaseInput & { readonly failure: FailedAttempt }, CompleteOutput>;
  /**
   * Releases jobs that are leased by runs other than `members`, which are gone. Returns their number.
   */
  readonly recover: Write<{ readonly members: readonly string[] }, number>;
  /** Releases jobs that are leased by these runs, which are gone for good. Returns their number. */
  readonly releaseRuns: Write<{ readonly runs: readonly string[] }, number>;
  /** Deletes expired jobs. Returns their number, and the time until the next job expires. */
  readonly expire: Write<null, { readonly expired: number; readonly nextMs: number | undefined }>;

  // Management.
  /**
   * Deletes a job that does not run. Undefined: there is no such job. If the job is `active`, the caller cancels its
   * call and then `drop`s it.
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
   * Returns dead letters to the end of their queue and group, with all their attempts available. They belong to `maker`
   * then. Without `ids`: up to `limit` of them, the oldest first; repeat until there are none. With `ids`: all or none;
   * refuses with `job_not_found` if one is not a dead letter of the queue. Refuses with `queue_full` if the new data
   * exceeds `maxBytes`, or a restricted `maker` has no room in its share. With `functions`: if one of the jobs has
   * another function, changes nothing and returns that function.
   */
  readonly redrive: Write<RedriveInput, number | { readonly functionId: string }>;
  /** Deletes dead letters. With `ids`: all or none; refuses with `job_not_found`. Without: up to `limit` of them. */
  readonly discard: Write<
    { readonly queue: string; readonly ids?: readonly string[] | undefined; readonly limit: number },
    number
  >;

  // Topics.
  /**
   * Stores the subscription, or its new config, and adds the backlog of the topic to its queue as `job`s, in order.
   * Returns the number of jobs.
   */
  readonly subscribe: Write<
    {
      readonly topic: string;
      readonly functionId: string;
      readonly config: string;
      /** As in Subscription. */
      readonly owner: string;
      /** The run that has a trigger of it. Only in a cluster. */
      readonly run?: string | undefined;
      /** Maximum age of messages. Older ones are dropped. */
      readonly ageMs: number;
      readonly job: Omit<NewJob, "id" | "data" | "bytes" | "traceparent" | "baggage" | "maker">;
    },
    number
  >;
  /** Notes that the run has no trigger of the subscription any more. */
  readonly releaseSubscription: Write<SubscriptionHolder, void>;
  /** Ends the subscription, unless another run has a trigger of it. Returns whether it has ended. */
  readonly unsubscribe: Write<SubscriptionHolder, boolean>;
  /**
   * Deletes up to `limit` waiting or delayed jobs of a subscription that has ended. Returns their number; repeat until
   * it is less than `limit`. Deletes nothing if it was subscribed again.
   */
  readonly purgeEnded: Write<
    Pick<Subscription, "topic" | "functionId"> & { readonly queue: string; readonly limit: number },
    number
  >;
  /** Notes that subscriptions have a trigger: in a cluster, one of this run, which has no others. */
  readonly touchSubscriptions: Write<
    {
      readonly subscriptions: readonly Pick<Subscription, "topic" | "functionId">[];
      readonly run?: string | undefined;
    },
    void
  >;
  /**
   * Adds a message to the backlog of its topic. Returns how many others were dropped because of their age, and how many
   * because of the bounds. Adds nothing if the topic has subscriptions.
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
   * undefined: the queue's server runs the job.
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
