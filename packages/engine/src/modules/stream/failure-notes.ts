import { CallError } from "@svc/protocol";
import type { Clock } from "../../kernel/clock.ts";
import type { Logger } from "../../kernel/logger.ts";
import type { TriggerBinding } from "../../kernel/module.ts";

/** How often one binding's failures are told, in milliseconds. */
const TELL_EVERY_MS = 1_000;

/** Tells how the deliveries of one binding go, once a second at most: in the log, and where triggers are listed. */
export class FailureNotes {
  readonly #binding: TriggerBinding<unknown>;
  readonly #what: string;
  readonly #clock: Clock;
  readonly #log: Logger;
  #failed = 0;
  #dropped = 0;
  /** Of the latest delivery; undefined when it went well. */
  #problem: string | undefined;
  #cancel: (() => void) | undefined;

  /** `what` names a delivery, e.g. "stream event". */
  constructor(binding: TriggerBinding<unknown>, what: string, { clock, log }: { readonly clock: Clock; readonly log: Logger }) {
    this.#binding = binding;
    this.#what = what;
    this.#clock = clock;
    this.#log = log;
  }

  failed(thrown: unknown): void {
    this.#failed++;
    const { code, message } = CallError.from(thrown);
    // That the function is not there is shown by the trigger's own standing.
    if (code !== "function_not_found") this.#problem = `the last ${this.#what} failed: ${code}: ${message}`;
    this.#tellSoon();
  }

  dropped(): void {
    this.#dropped++;
    this.#problem = `its function does not keep up: ${this.#what}s were dropped`;
    this.#tellSoon();
  }

  succeeded(): void {
    if (this.#problem === undefined) return;
    this.#problem = undefined;
    this.#tellSoon();
  }

  stop(): void {
    this.#cancel?.();
    this.#cancel = undefined;
  }

  /** The first at once, what follows within the second together. */
  #tellSoon(): void {
    if (this.#cancel !== undefined) return;
    this.#tell();
    this.#cancel = this.#clock.after(TELL_EVERY_MS, () => {
      this.#cancel = undefined;
      if (this.#failed > 0 || this.#dropped > 0) this.#tellSoon();
      else this.#binding.report(this.#problem);
    });
  }

  #tell(): void {
    const { functionId } = this.#binding;
    if (this.#failed > 0) this.#log.warn(`${this.#what}s could not be delivered`, { functionId, failed: this.#failed, problem: this.#problem });
    if (this.#dropped > 0) this.#log.warn(`${this.#what}s were dropped: the function does not keep up`, { functionId, dropped: this.#dropped });
    this.#failed = 0;
    this.#dropped = 0;
    this.#binding.report(this.#problem);
  }
}
