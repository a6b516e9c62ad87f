import type { Payload } from "@svc/protocol";
import type { DeliveryAttempt } from "../../../deliveries/call-failure.ts";
import type { Directory } from "../../../kernel/directory.ts";
import type { CallOptions, TriggerBinding } from "../../../kernel/module.ts";
import type { Undo } from "../../../kernel/scope.ts";
import type { JobServer } from "../queue-core.ts";

/** What all settings of triggers served here have. */
export interface WithCondition {
  readonly conditionFunctionId: string | undefined;
}

type Bound = TriggerBinding<WithCondition>;

/**
 * Runs jobs by the triggers that ask for them: each job by one of them, in turns. One whose condition answers false leaves the job to the next one; when
 * all do, the job is done without having run.
 */
export class BoundFunctions implements JobServer {
  readonly #directory: Pick<Directory, "functionById">;
  readonly #bound: Bound[] = [];
  readonly #takenProblem: string | undefined;
  /** A trusted worker asks for the jobs, or its trigger lapsed and it may come back: triggers of restricted connections get none. */
  #isTaken = false;
  #turn = 0;

  /** `takenProblem` is what restricted triggers report while a trusted worker has the jobs for itself. Undefined: all triggers share the jobs. */
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
    this.#decideWhose();
    return () => {
      const index = this.#bound.indexOf(binding);
      if (index >= 0) this.#bound.splice(index, 1);
      if (binding.principal.isTrusted && binding.ended !== "lapsed") this.#isTaken = false;
      this.#decideWhose();
    };
  }

  /** Call when the principal of one of the triggers has become another. */
  principalChanged(binding: Bound): void {
    if (binding.isGivenUp) this.#isTaken = false;
    this.#decideWhose();
  }

  isAway(): boolean {
    return !this.#served().some((binding) => this.#isThere(binding));
  }

  /** Shows all of them as in error, with the reason; undefined takes that back. */
  report(problem: string | undefined): void {
    for (const binding of this.#bound) binding.report(problem);
  }

  async run(payload: Payload, options: CallOptions, attempt: DeliveryAttempt): Promise<unknown> {
    const { signal, traceparent, baggage, timeoutMs } = options;
    for (const binding of this.#inTurn()) {
      const conditionOptions = attempt.callOptions({ signal, traceparent, baggage, timeoutMs });
      if (binding.settings.conditionFunctionId !== undefined && !(await binding.passes(payload, conditionOptions))) continue;
      return binding.fire(payload, attempt.callOptions(options));
    }
    return undefined;
  }

  /** Those that are there, another one first each time. With none there, all: one of them says what is missing. */
  #inTurn(): Bound[] {
    const served = this.#served();
    const there = served.filter((binding) => this.#isThere(binding));
    const asked = there.length === 0 ? served : there;
    this.#turn = (this.#turn + 1) % Math.max(1, asked.length);
    return [...asked.slice(this.#turn), ...asked.slice(0, this.#turn)];
  }

  /** Those that get jobs. */
  #served(): Bound[] {
    return this.#bound.filter(({ principal }) => principal.isTrusted || !this.#isTaken);
  }

  #decideWhose(): void {
    if (this.#takenProblem === undefined) return;
    this.#isTaken ||= this.#bound.some(({ principal }) => principal.isTrusted);
    for (const binding of this.#bound) binding.report(this.#isTaken && !binding.principal.isTrusted ? this.#takenProblem : undefined);
  }

  #isThere(binding: Bound): boolean {
    return !binding.isAway && neededBy(binding).every((id) => this.#directory.functionById(id) !== undefined);
  }
}

function neededBy({ functionId, settings: { conditionFunctionId } }: Bound): string[] {
  return conditionFunctionId === undefined ? [functionId] : [functionId, conditionFunctionId];
}
