import { CallError } from "@svc-runtime/protocol";
import type { ClockState } from "../../kernel/module.ts";

const CLOCK_WRONG = "the clock of this engine differs from those of the other engines by more than 1 s";

/** Error of triggers while the clock of this engine is wrong. */
export const NO_TICKS_HERE = `no ticks start at this engine: ${CLOCK_WRONG}; set it (NTP)`;

/**
 * Throws CallError if the clock of this engine is not right. Times that it gives would change which ticks start at all
 * engines, and the job may not be read, so that the change would have no effect.
 */
export function refuseWrongClock(clockState: ClockState): void {
  if (clockState === "right") return;
  throw new CallError(
    "invalid_request",
    clockState === "wrong"
      ? `nothing was changed: ${CLOCK_WRONG}; call another engine that has the trigger, or set the clock of this one (NTP)`
      : "nothing was changed: the clock of this engine has not been compared with those of the other engines yet; try again in a few seconds",
  );
}
