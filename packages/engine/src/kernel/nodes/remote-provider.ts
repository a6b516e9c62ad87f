import type { CallError } from "@svc-runtime/protocol";
import { type Principal, TRUSTED } from "../../access/principal.ts";
import type { Call, Provider, Refusal, RemoteNode } from "../call.ts";
import type { OutgoingCalls } from "./outgoing-calls.ts";

/** Provides the functions of a worker that is connected to a peer. The peer may choose another worker for a call. */
export class RemoteProvider implements Provider {
  readonly workerId: string;
  readonly builtIn = false;
  readonly isStandby = false;
  readonly principal: Principal = TRUSTED;
  /** The worker's name. It changes when the worker introduces itself after it has registered functions. */
  name = "";
  readonly #calls: OutgoingCalls;

  constructor(workerId: string, calls: OutgoingCalls) {
    this.workerId = workerId;
    this.#calls = calls;
  }

  get remote(): RemoteNode {
    return this.#calls;
  }

  /** Calls of this node to the worker's node, because it is not known which worker of that node runs which call. */
  get inFlight(): number {
    return this.#calls.size;
  }

  refusal(): Refusal | undefined {
    return this.#calls.refusal();
  }

  deliver(call: Call): CallError | undefined {
    return this.#calls.deliver(call);
  }

  withdraw(call: Call, reason: string): void {
    this.#calls.withdraw(call, reason);
  }

  release(call: Call): void {
    this.#calls.release(call);
  }
}
