import type { CallError } from "@svc-runtime/protocol";
import { type Principal, TRUSTED } from "../../access/principal.ts";
import type { Call, Provider, Refusal, RemoteNode } from "../call.ts";
import type { OutgoingCalls } from "./outgoing-calls.ts";

/** A worker that is connected to a peer, as a provider of its functions. The peer chooses which of its workers runs a call. */
export class RemoteProvider implements Provider {
  readonly workerId: string;
  readonly builtIn = false;
  readonly isStandby = false;
  readonly principal: Principal = TRUSTED;
  /** The worker's name. It may introduce itself after it registered. */
  name = "";
  readonly #calls: OutgoingCalls;

  constructor(workerId: string, calls: OutgoingCalls) {
    this.workerId = workerId;
    this.#calls = calls;
  }

  get remote(): RemoteNode {
    return this.#calls;
  }

  /** Calls from here to the worker's node: which of its workers runs them is not known. */
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
