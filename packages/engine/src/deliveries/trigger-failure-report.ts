import { CallError } from "@svc-runtime/protocol";
import type { Clock } from "../kernel/clock.ts";
import type { Logger } from "../kernel/logger.ts";
import type { TriggerBinding } from "../kernel/module.ts";

/** Minimum time between two reports for one binding, in milliseconds. */
const REPORT_EVERY_MS = 1_000;

/** Reports failed calls of one trigger, at most once a second: in the log and in the list of triggers. */
export class TriggerFailureReport {
  readonly #binding: TriggerBinding<unknown>;
  readonly #type: string;
  readonly #clock: Clock;
  readonly #log: Logger;
  #failed = 0;
  #dropped = 0;
  /** The problem of the last call; undefined if the call succeeded. */
  #problem: string | undefined;
  #cancel: (() => void) | undefined;
  #stopped = false;

  /** `type` is the trigger type. */
  constructor(
    binding: TriggerBinding<unknown>,
    type: string,
    { clock, log }: { readonly clock: Clock; readonly log: Logger },
  ) {
    this.#binding = binding;
    this.#type = type;
    this.#clock = clock;
    this.#log = log;
  }

  failed(thrown: unknown): void {
    this.#failed++;
    const { code, message } = CallError.from(thrown);
    this.#problem = `its last call failed: ${code}: ${message}`;
    this.#reportSoon();
  }

  dropped(): void {
    this.#dropped++;
    this.#problem = "its function is too slow: events were dropped";
    this.#reportSoon();
  }

  succeeded(): void {
    if (this.#problem === undefined) return;
    this.#problem = undefined;
    this.#reportSoon();
  }

  /** Stops reporting. Calls still in flight for a removed trigger are not reported. */
  stop(): void {
    this.#stopped = true;
    this.#cancel?.();
  }

  /** Reports the first problem at once, and all further problems within the same second together. */
  #reportSoon(): void {
    if (this.#stopped || this.#cancel !== undefined) return;
    this.#report();
    this.#cancel = this.#clock.after(REPORT_EVERY_MS, () => {
      this.#cancel = undefined;
      if (this.#failed > 0 || this.#dropped > 0) this.#reportSoon();
      else this.#binding.report(this.#problem);
    });
  }

  #report(): void {
    const { functionId } = this.#binding;
    const fields = { type: this.#type, functionId, problem: this.#problem };
    if (this.#failed > 0) this.#log.warn("calls for a trigger failed", { ...fields, failed: this.#failed });
    if (this.#dropped > 0)
      this.#log.warn("events for a trigger were dropped: its function is too slow", {
        ...fields,
        dropped: this.#dropped,
      });
    this.#failed = 0;
    this.#dropped = 0;
    this.#binding.report(this.#problem);
  }
}
