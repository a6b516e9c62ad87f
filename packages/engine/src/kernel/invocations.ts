import { CallError, type FunctionId } from "@svc/protocol";
import type { InvocationRunner, Registrar, RunDelegatedCall } from "./module.ts";
import type { Undo } from "./scope.ts";

/** The module that runs functions registered with `invocation`. Only that module interprets the member. */
export class Invocations {
  #runner: InvocationRunner | undefined;

  provide(runner: InvocationRunner): Undo {
    if (this.#runner !== undefined)
      throw new TypeError("another module already runs functions registered with `invocation`");
    this.#runner = runner;
    return () => {
      if (this.#runner === runner) this.#runner = undefined;
    };
  }

  /** Throws CallError if the registration is refused. */
  accept(functionId: FunctionId, invocation: unknown, registrar: Registrar): RunDelegatedCall {
    if (this.#runner === undefined)
      throw new CallError("registration_refused", `${functionId}: this engine runs no functions outside of workers`);
    return this.#runner.accept(functionId, invocation, registrar);
  }
}
