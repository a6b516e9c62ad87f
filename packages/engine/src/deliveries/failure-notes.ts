import { CallError } from "@svc/protocol";
import type { Clock } from "../kernel/clock.ts";
import type { Logger } from "../kernel/logger.ts";
import type { TriggerBinding } from "../kernel/module.ts";

/** How often one binding's failures are told, in milliseconds. */
const TELL_EVERY_MS = 1_000;

/** Tells how the calls for one trigger go, once a second at most: in the log, and where triggers are listed. */
export class FailureNotes {
  readonly #binding: TriggerBinding<unknown>;
  readonly #type: string;
  readonly #clock: Clock;
  readonly #log: Logger;
  #failed = 0;
  #dropped = 0;
  /** Of the latest call; undefined when it went well. */
  #problem: string | undefined;
  #cancel: (() => void) | undefined;
  #stopped = false;

  /** `type` is the trigger's. */
  constructor(binding: TriggerBinding<unknown>, type: string, { clock, log }: { readonly clock: Clock; readonly log: Logger }) {
    this.#binding = binding;
    this.#type = type;
    this.#clock = clock;
    this.#log = log;
  }

  failed(thrown: unknown): void {
    this.#failed++;
    const { code, message } = CallError.from(thrown);
    this.#problem = `its last call failed: ${code}: ${message}`;
    this.#tellSoon();
  }

  dropped(): void {
    this.#dropped++;
    this.#problem = "its function does not keep up: events were dropped";
    this.#tellSoon();
  }

  succeeded(): void {
    if (this.#problem === undefined) return;
    this.#problem = undefined;
    this.#tellSoon();
  }

  /** What is still under way for a trigger that has gone is nobody's to hear. */
  stop(): void {
    this.#stopped = true;
    this.#cancel?.();
  }

  /** The first at once, what follows within the second together. */
  #tellSoon(): void {
    if (this.#stopped || this.#cancel !== undefined) return;
    this.#tell();
    this.#cancel = this.#clock.after(TELL_EVERY_MS, () => {
      this.#cancel = undefined;
      if (this.#failed > 0 || this.#dropped > 0) this.#tellSoon();
      else this.#binding.report(this.#problem);
    });
  }

  #tell(): void {
    const { functionId } = this.#binding;
    const fields = { type: this.#type, functionId, problem: this.#problem };
    if (this.#failed > 0) this.#log.warn("calls for a trigger failed", { ...fields, failed: this.#failed });
    if (this.#dropped > 0) this.#log.warn("events for a trigger were dropped, since its function does not keep up", { ...fields, dropped: this.#dropped });
    this.#failed = 0;
    this.#dropped = 0;
    this.#binding.report(this.#problem);
  }
}
