import { backoffMs, CallError } from "@svc/protocol";
import { UNAVAILABLE_BACKOFF } from "../../deliveries/call-failure.ts";
import type { Clock } from "../../kernel/clock.ts";
import type { Logger } from "../../kernel/logger.ts";
import type { Attempt } from "./job-attempt.ts";
import type { QueueSettings } from "./queue-settings.ts";
import type { RunRefusal } from "./run-refusal.ts";
import type { TakenJob } from "./store/job.ts";
import type { EndOutput, QueueStore } from "./store/queue-store.ts";

/** A job that was taken and has not been put back or ended. */
export interface Hand {
  readonly job: TakenJob;
  readonly abort: AbortController;
  /** Why it was aborted. */
  cut: "cancelled" | "stopped" | undefined;
  /** Its handler has ended and the store is being told: its place is free for the next one. */
  ending: boolean;
  readonly ended: Promise<void>;
}

/** Tells the store what has become of a job. */
export type Ending = (job: TakenJob) => Promise<EndOutput>;

interface EndingParts {
  readonly name: string;
  readonly settings: QueueSettings;
  readonly store: QueueStore;
  readonly clock: Clock;
  readonly log: Logger;
}

/** What is to become of a job whose attempt failed. */
export function endingAfter(
  { error, kind, failure }: Attempt,
  parts: EndingParts & { readonly hand: Hand; readonly isStopping: boolean; readonly noteDue: (at: number) => void },
): Ending {
  const { hand, store, clock, settings, name, log } = parts;
  const { job, cut } = hand;
  // While the engine shuts down workers go because it ends them: that is no fault of the job.
  const isNoFault = cut === "stopped" || (kind === "interrupted" && parts.isStopping);
  if (kind === "missing" || kind === "unavailable" || isNoFault) return release(store);
  if (failure.attempt >= job.maxAttempts) {
    const fields = { queue: name, job: job.id, functionId: job.functionId, attempts: failure.attempt, code: error.code, problem: error.message };
    log.error("a job failed as often as it may; it is a dead letter now", fields);
    return ({ seq }) => store.call("bury", { seq, failure });
  }
  const runAt = clock.now() + (kind === "interrupted" ? 0 : backoffMs(settings.backoff, failure.attempt));
  return async ({ seq }) => {
    const output = await store.call("retry", { seq, failure, runAt });
    parts.noteDue(runAt);
    return output;
  };
}

/** Moves a job to the dead letters unrun. */
export function buryUnrun(job: TakenJob, { code, message }: RunRefusal, { store, clock }: Pick<EndingParts, "store" | "clock">): Ending {
  const failure = { attempt: job.attempts, at: clock.now(), code, message, stack: undefined, worker: undefined, traceId: undefined };
  return ({ seq }) => store.call("bury", { seq, failure });
}

export function release(store: QueueStore): Ending {
  return ({ seq }) => store.call("release", { seq });
}

/** Tells the store. Until it knows, the job is in hand: its lease goes on, and nobody else gets it. `beforehand` is called with its place free. */
export async function recordEnding(
  hand: Hand,
  ending: Ending,
  parts: EndingParts & { readonly beforehand: () => void; readonly onUnblocked: () => void },
): Promise<void> {
  for (let failures = 1; ; failures++) {
    try {
      hand.ending = failures === 1;
      if (hand.ending) parts.beforehand();
      const { unblocked } = await ending(hand.job);
      if (unblocked) parts.onUnblocked();
      return;
    } catch (error) {
      hand.ending = false;
      if (failures === 1) parts.log.warn("the end of a job cannot be recorded at present", { queue: parts.name, job: hand.job.id, error });
      // It stays active in the store, and the next start gives it back.
      if (hand.cut === "stopped" || (CallError.is(error) && error.code === "draining")) return;
      await pauseOf(hand, Math.min(5_000, backoffMs(UNAVAILABLE_BACKOFF, failures)), parts.clock);
    }
  }
}

/** Ends early when the job is cut. */
function pauseOf({ abort }: Hand, ms: number, clock: Clock): Promise<void> {
  return new Promise((resolve) => {
    const end = (): void => {
      cancel();
      abort.signal.removeEventListener("abort", end);
      resolve();
    };
    const cancel = clock.after(ms, end);
    if (!abort.signal.aborted) abort.signal.addEventListener("abort", end);
  });
}
