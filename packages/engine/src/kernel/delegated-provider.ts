import { CallError } from "@svc-runtime/protocol";
import type { Principal } from "../access/principal.ts";
import type { Call, Provider, Refusal } from "./call.ts";
import type { DelegatedCall, RunDelegatedCall } from "./module.ts";
import type { Router } from "./router.ts";
import type { Session } from "./session.ts";
import type { Sessions } from "./sessions.ts";

export interface DelegationPorts {
  readonly sessions: Sessions;
  readonly router: Router;
  /** Maximum calls in flight of one function. */
  readonly maxCallsHeld: number;
}

/**
 * A function that its worker registered with `invocation`: listed under the worker and removed with it, but run by a
 * module. In-flight calls do not need the worker and continue after it has disconnected.
 */
export class DelegatedProvider implements Provider {
  readonly builtIn = false;
  readonly #session: Session;
  readonly #run: RunDelegatedCall;
  readonly #ports: DelegationPorts;
  readonly #running = new Map<Call, AbortController>();

  constructor(session: Session, run: RunDelegatedCall, ports: DelegationPorts) {
    this.#session = session;
    this.#run = run;
    this.#ports = ports;
  }

  get workerId(): string {
    return this.#session.workerId;
  }

  /** Read at each use: the worker may introduce itself after registering. */
  get name(): string {
    return this.#session.name;
  }

  get principal(): Principal {
    return this.#session.principal;
  }

  get isStandby(): boolean {
    return this.#session.isStandby;
  }

  get isLeaving(): boolean {
    return this.#session.isLeaving;
  }

  get inFlight(): number {
    return this.#running.size;
  }

  refusal(): Refusal | undefined {
    return this.#running.size >= this.#ports.maxCallsHeld ? "overloaded" : undefined;
  }

  deliver(call: Call): undefined {
    const controller = new AbortController();
    this.#running.set(call, controller);
    const { id, payload, traceparent, baggage } = call;
    // The worker's own name of the function, without the prefix of a restricted connection.
    const functionId = this.#session.access?.localFunctionId(call.functionId) ?? call.functionId;
    void this.#execute(call, {
      id,
      functionId,
      principal: this.#chargedFor(call),
      payload,
      traceparent,
      baggage,
      signal: controller.signal,
    });
  }

  #chargedFor({ caller }: Call): Principal {
    const { principal } = this.#session;
    if (!principal.isTrusted || caller === undefined) return principal;
    return this.#ports.sessions.byId(caller.worker_id)?.principal ?? principal;
  }

  withdraw(call: Call, reason: string): void {
    this.#running.get(call)?.abort(new CallError("call_cancelled", reason));
  }

  release(call: Call): void {
    this.#running.delete(call);
  }

  async #execute(call: Call, delegated: DelegatedCall): Promise<void> {
    try {
      const result = await this.#run(delegated);
      this.#ports.router.settle(call, {
        ok: true,
        result,
        traceparent: delegated.traceparent,
        baggage: delegated.baggage,
      });
    } catch (thrown) {
      if (!CallError.is(thrown))
        this.#session.log.error("a function of the engine failed", { functionId: call.functionId, error: thrown });
      this.#ports.router.settle(call, { ok: false, error: CallError.from(thrown) });
    }
  }
}
