import type { Logger } from "../kernel/logger.ts";
import type { Undo } from "../kernel/scope.ts";
import type { AppliedWrite, ProcedureTable } from "../kernel/store-contract.ts";
import type { Request } from "./thread-messages.ts";

/** The listeners of a store's `onApplied`. */
export class AppliedListeners<Procedures extends ProcedureTable> {
  readonly #log: Logger;
  readonly #listeners = new Set<(applied: AppliedWrite<Procedures>) => void>();

  constructor(log: Logger) {
    this.#log = log;
  }

  add(listener: (applied: AppliedWrite<Procedures>) => void): Undo {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Reports a write of this run. */
  reportOwn(request: Request, output: unknown, mark: unknown): void {
    this.#report(request, { output, isOwn: true, mark });
  }

  /** Reports a write of another run. */
  reportForeign(request: Request, output: unknown): void {
    this.#report(request, { output, isOwn: false, mark: undefined });
  }

  #report(
    { procedure, input }: Request,
    facts: { readonly output: unknown; readonly isOwn: boolean; readonly mark: unknown },
  ): void {
    if (this.#listeners.size === 0) return;
    // The store ran the procedure of this name with this input.
    const applied = { procedure, input, ...facts } as AppliedWrite<Procedures>;
    for (const listener of this.#listeners) {
      try {
        listener(applied);
      } catch (error) {
        this.#log.error("a listener for writes of a store failed", { procedure, error });
      }
    }
  }
}
