import { CallError, type FunctionId } from "@svc-runtime/protocol";
import { DelegatedProvider, type DelegationPorts } from "./delegated-provider.ts";
import type { InvocationRunner } from "./module.ts";
import type { Undo } from "./scope.ts";
import type { Session } from "./session.ts";

/** The module that runs functions registered with `invocation`. Only that module interprets the member. */
export class ExternalFunctions {
  readonly #ports: DelegationPorts;
  #runner: InvocationRunner | undefined;

  constructor(ports: DelegationPorts) {
    this.#ports = ports;
  }

  provide(runner: InvocationRunner): Undo {
    if (this.#runner !== undefined)
      throw new TypeError("another module already runs functions registered with `invocation`");
    this.#runner = runner;
    return () => {
      if (this.#runner === runner) this.#runner = undefined;
    };
  }

  /** Returns the provider of the session's function. Throws CallError if the registration is refused. */
  providerOf(functionId: FunctionId, invocation: unknown, session: Session): DelegatedProvider {
    if (this.#runner === undefined)
      throw new CallError("registration_refused", `${functionId}: this engine runs no functions outside of workers`);
    const run = this.#runner.accept(functionId, invocation, { principal: session.principal });
    return new DelegatedProvider(session, run, this.#ports);
  }
}
