import type { Payload } from "@svc-runtime/protocol";
import type { DeliveryAttempt } from "../../../deliveries/call-failure.ts";
import type { Directory } from "../../../kernel/directory.ts";
import type { CallOptions, TriggerBinding } from "../../../kernel/module.ts";
import type { Undo } from "../../../kernel/scope.ts";
import type { JobServer } from "../queue-core.ts";

/** Settings that the triggers of both types have, `queue` and `durable:subscriber`. */
export interface WithCondition {
  readonly conditionFunctionId: string | undefined;
}

type Bound = TriggerBinding<WithCondition>;

/**
 * Runs jobs with the functions of bound triggers. Each job is run by one trigger, in round-robin order. A trigger whose
 * condition returns false passes the job to the next one. If all pass, the job is done without running.
 */
export class BoundFunctions implements JobServer {
  readonly #directory: Pick<Directory, "functionById">;
  readonly #bound: Bound[] = [];
  readonly #takenProblem: string | undefined;
  /**
   * True if the jobs are reserved for triggers of trusted workers: such a trigger is bound, or has lapsed and may
   * return.
   */
  #isReservedForTrusted = false;
  #turn = 0;

  /**
   * `takenProblem` is the problem that restricted triggers report while the jobs are reserved for trusted workers.
   * Undefined: jobs are never reserved, and all triggers share them.
   */
  constructor(directory: Pick<Directory, "functionById">, takenProblem?: string) {
    this.#directory = directory;
    this.#takenProblem = takenProblem;
  }

  get size(): number {
    return this.#bound.length;
  }

  get functionIds(): readonly string[] {
    return this.#bound.flatMap(neededBy);
  }

  add(binding: Bound): Undo {
    this.#bound.push(binding);
    const { conditionFunctionId } = binding.settings;
    if (conditionFunctionId !== undefined) binding.needs([conditionFunctionId]);
    this.#updateReservation();
    return () => {
      const index = this.#bound.indexOf(binding);
      if (index >= 0) this.#bound.splice(index, 1);
      if (binding.principal.isTrusted && binding.ended !== "lapsed") this.#isReservedForTrusted = false;
      this.#updateReservation();
    };
  }

  /** Call when the principal of a trigger has changed. */
  principalChanged(binding: Bound): void {
    if (binding.isGivenUp) this.#isReservedForTrusted = false;
    this.#updateReservation();
  }

  isAway(): boolean {
    return !this.#served().some((binding) => this.#isAvailable(binding));
  }

  /** Reports the problem on all triggers; undefined clears it. */
  report(problem: string | undefined): void {
    for (const binding of this.#bound) binding.report(problem);
  }

  async run(payload: Payload, options: CallOptions, attempt: DeliveryAttempt): Promise<Payload | undefined> {
    const { traceparent, baggage, timeoutMs } = options;
    for (const binding of this.#inRoundRobinOrder()) {
      const conditionOptions = attempt.callOptions({ traceparent, baggage, timeoutMs });
      if (binding.settings.conditionFunctionId !== undefined && !(await binding.passes(payload, conditionOptions)))
        continue;
      return binding.fire(payload, attempt.callOptions(options));
    }
    return undefined;
  }

  /**
   * Returns the available triggers, starting with another one each time. If none is available, returns all, so that the
   * call's error names what is missing.
   */
  #inRoundRobinOrder(): Bound[] {
    const served = this.#served();
    const available = served.filter((binding) => this.#isAvailable(binding));
    const candidates = available.length === 0 ? served : available;
    this.#turn = (this.#turn + 1) % Math.max(1, candidates.length);
    return [...candidates.slice(this.#turn), ...candidates.slice(0, this.#turn)];
  }

  /** Returns the triggers that may get jobs. */
  #served(): Bound[] {
    return this.#bound.filter(({ principal }) => principal.isTrusted || !this.#isReservedForTrusted);
  }

  #updateReservation(): void {
    if (this.#takenProblem === undefined) return;
    this.#isReservedForTrusted ||= this.#bound.some(({ principal }) => principal.isTrusted);
    for (const binding of this.#bound)
      binding.report(this.#isReservedForTrusted && !binding.principal.isTrusted ? this.#takenProblem : undefined);
  }

  #isAvailable(binding: Bound): boolean {
    return !binding.isAway && neededBy(binding).every((id) => this.#directory.functionById(id) !== undefined);
  }
}

function neededBy({ functionId, settings: { conditionFunctionId } }: Bound): string[] {
  return conditionFunctionId === undefined ? [functionId] : [functionId, conditionFunctionId];
}
