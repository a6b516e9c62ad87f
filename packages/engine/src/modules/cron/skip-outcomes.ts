import { MAX_CATCH_UP, type SkippedTicks } from "./plan-ticks.ts";
import type { Outcome } from "./store/rows.ts";

/** Outcome and error with which skipped ticks are recorded in the history, by reason. */
export const SKIP_OUTCOMES: Readonly<
  Record<SkippedTicks["reason"], { readonly outcome: Outcome; readonly error: string }>
> = {
  missed: { outcome: "skipped", error: "missed: it could not start within 60 s, and its misfire policy skips it" },
  superseded: { outcome: "skipped", error: "superseded by a later tick, which was started" },
  capped: { outcome: "skipped", error: `missed: only the latest ${MAX_CATCH_UP} missed ticks are started` },
  overlap: { outcome: "skipped", error: "the previous run had not ended" },
  absent: { outcome: "error", error: "its function or its worker was not available" },
};
