import { backoffMs, CallError } from "@svc-runtime/protocol";
import { type DeliveryAttempt, UNAVAILABLE_BACKOFF } from "../../deliveries/call-failure.ts";
import type { Clock } from "../../kernel/clock.ts";
import type { Logger } from "../../kernel/logger.ts";
import type { Attempt } from "./job-attempt.ts";
import type { Progress } from "./queue-core.ts";
import type { QueueSettings } from "./queue-settings.ts";
import type { RunRefusal } from "./run-refusal.ts";
import type { LeasedJob } from "./store/job.ts";
import type { QueueStore } from "./store/queue-store.ts";

/** A leased job that has been neither released nor completed. */
export interface InFlightJob {
  readonly job: LeasedJob;
  /** The calls of the attempt. Cancelling them ends the attempt. */
  readonly calls: DeliveryAttempt;
  /** Why the job was aborted. */
  abortReason: "cancelled" | "stopped" | undefined;
  /** Ends a wait before the next try to store the outcome. */
  endWait: (() => void) | undefined;
  /** The handler has ended and its result is being stored. The next job may use its slot. */
  isCompleting: boolean;
  /** Id of the worker that runs the job. */
  workerId: string | undefined;
  progress: Progress | undefined;
  readonly ended: Promise<void>;
}

/** Stores the outcome of a job. */
export type Completion = (job: LeasedJob) => Promise<unknown>;

interface CompletionParts {
  readonly name: string;
  readonly settings: QueueSettings;
  readonly store: QueueStore;
  readonly clock: Clock;
  readonly log: Logger;
}

/** Returns how to complete a job whose attempt failed. */
export function completionAfterFailure(
  { error, kind, failure }: Attempt,
  parts: CompletionParts & {
    readonly inFlight: InFlightJob;
    readonly isStopping: boolean;
  },
): Completion {
  const { inFlight, store, settings, name, log } = parts;
  const { job, abortReason } = inFlight;
  // During a shutdown the engine ends the workers itself, so an interrupted attempt is not counted.
  const isUncounted = abortReason === "stopped" || (kind === "interrupted" && parts.isStopping);
  if (kind === "missing" || kind === "unavailable" || isUncounted) return release(store);
  if (failure.attempt >= job.maxAttempts) {
    const fields = {
      queue: name,
      job: job.id,
      functionId: job.functionId,
      attempts: failure.attempt,
      code: error.code,
      problem: error.message,
    };
    log.error("job moved to dead letters: attempts exhausted", fields);
    return ({ seq }) => store.call("deadLetter", { seq, run: store.run, failure });
  }
  const delayMs = kind === "interrupted" ? 0 : backoffMs(settings.backoff, failure.attempt);
  return ({ seq }) => store.call("retry", { seq, run: store.run, failure, delayMs });
}

/** Moves a job to the dead letters without running it. */
export function deadLetterUnrun(
  job: LeasedJob,
  { code, message }: RunRefusal,
  { store, clock }: Pick<CompletionParts, "store" | "clock">,
): Completion {
  const failure = {
    attempt: job.attempts,
    at: clock.now(),
    code,
    message,
    stack: undefined,
    worker: undefined,
    traceId: undefined,
  };
  return ({ seq }) => store.call("deadLetter", { seq, run: store.run, failure });
}

export function release(store: QueueStore): Completion {
  return ({ seq }) => store.call("release", { seq, run: store.run });
}

/**
 * Stores the outcome of a job, and retries until the store accepts it. Meanwhile the job keeps its lease, so no other
 * run of the engine takes the job. Gives up in two cases: this run has lost the lease, so another run completes the
 * job; this run is stopping, so a later start returns the job to the queue. Calls `onSlotFreed` before the first try,
 * because the next job may use the slot from then on.
 */
export async function storeCompletion(
  inFlight: InFlightJob,
  completion: Completion,
  parts: Pick<CompletionParts, "name" | "clock" | "log">,
  onSlotFreed: () => void,
): Promise<void> {
  for (let failures = 1; ; failures++) {
    try {
      inFlight.isCompleting = failures === 1;
      if (inFlight.isCompleting) onSlotFreed();
      await completion(inFlight.job);
      return;
    } catch (error) {
      inFlight.isCompleting = false;
      if (CallError.is(error) && error.code === "lease_lost") {
        // Warn only at the first try. After a failed try, that try may have stored the outcome and lost only the
        // response.
        if (failures === 1)
          parts.log.warn("outcome of a job discarded: its lease was lost", { queue: parts.name, job: inFlight.job.id });
        return;
      }
      if (failures === 1)
        parts.log.warn("the outcome of a job cannot be stored", { queue: parts.name, job: inFlight.job.id, error });
      // The job stays active in the store, and the next start returns it to the queue.
      if (inFlight.abortReason === "stopped" || (CallError.is(error) && error.code === "draining")) return;
      await waitUnlessAborted(inFlight, Math.min(5_000, backoffMs(UNAVAILABLE_BACKOFF, failures)), parts.clock);
    }
  }
}

/** Waits `ms` milliseconds, or until the job is aborted. */
function waitUnlessAborted(inFlight: InFlightJob, ms: number, clock: Clock): Promise<void> {
  return new Promise((resolve) => {
    const end = (): void => {
      cancel();
      inFlight.endWait = undefined;
      resolve();
    };
    const cancel = clock.after(ms, end);
    if (inFlight.abortReason === undefined) inFlight.endWait = end;
  });
}
