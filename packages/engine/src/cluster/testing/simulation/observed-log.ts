import type { AppliedEntry } from "../../../store/replicated/replica-messages.ts";
import type { Violations } from "./violations.ts";

/** A request that was applied, with its answer. */
export interface AppliedRequest {
  readonly store: string;
  readonly position: number;
  /** Run that wrote it. */
  readonly run: string;
  readonly procedure: string;
  readonly input: unknown;
  /** Undefined if the request was refused. */
  readonly output: unknown;
  readonly isDone: boolean;
}

export interface LogObserver {
  /** Called after the requests of an entry, which may have none. `run` wrote it. */
  onEntry?(entry: { readonly store: string; readonly run: string; readonly position: number }): void;
  onRequest(request: AppliedRequest): void;
  /** Members after an entry that changed them. */
  onMembers?(store: string, members: readonly string[]): void;
}

/**
 * What the replicas of one store applied. Reports each entry once, in order, when the first replica applies it, and
 * compares the hashes of all replicas at each position.
 */
export class ObservedLog {
  readonly #store: string;
  readonly #violations: Violations;
  readonly #observers: readonly LogObserver[];
  readonly #digests: string[] = [""];

  constructor(store: string, violations: Violations, observers: readonly LogObserver[]) {
    this.#store = store;
    this.#violations = violations;
    this.#observers = observers;
  }

  /** Number of entries that some replica applied. */
  get length(): number {
    return this.#digests.length - 1;
  }

  applied(node: string, writes: readonly string[], entry: AppliedEntry): void {
    const { position, digest, id, outcome, requests, answers, membership } = entry;
    if (entry.differs)
      this.#violations.add("replicas are equal", `${node} found that replicas of ${this.#store} differ`);
    const known = this.#digests[position];
    if (known !== undefined) {
      if (known !== digest)
        this.#violations.add("replicas are equal", `${node} differs in ${this.#store} at ${position} (${id})`);
      return;
    }
    this.#digests[position] = digest;
    if (outcome !== "applied") return;
    const run = id.slice(0, id.lastIndexOf("/"));
    for (const [index, { procedure, input }] of requests.entries()) {
      if (!procedure.startsWith("replica:") && !writes.includes(procedure)) continue;
      const answer = answers[index];
      const isDone = answer?.status === "done";
      const output = answer?.status === "done" ? answer.output : undefined;
      const request = { store: this.#store, position, run, procedure, input, output, isDone };
      for (const observer of this.#observers) observer.onRequest(request);
    }
    for (const observer of this.#observers) observer.onEntry?.({ store: this.#store, run, position });
    if (membership !== undefined)
      for (const observer of this.#observers) observer.onMembers?.(this.#store, membership.members);
  }
}
