import type { AppliedRequest, LogObserver } from "../observed-log.ts";
import type { Violations } from "../violations.ts";

interface Members {
  /** Nodes by run. */
  readonly nodes: Map<string, string>;
  /** Voters by the run that they want to expel. */
  readonly votes: Map<string, Set<string>>;
}

/** Members of each store as they should be: a run is expelled by a majority, or by a newer run of its node. */
export class MemberModel implements LogObserver {
  readonly #violations: Violations;
  readonly #stores = new Map<string, Members>();
  /** The entry of the last request. A run that its own entry expels completes the entry. */
  #entry: { readonly store: string; readonly position: number; readonly isOfMember: boolean } | undefined;

  constructor(violations: Violations) {
    this.#violations = violations;
  }

  members(store: string): readonly string[] {
    return [...this.#of(store).nodes.keys()];
  }

  onRequest({ store, position, run, procedure, input }: AppliedRequest): void {
    const { nodes, votes } = this.#of(store);
    if (this.#entry?.store !== store || this.#entry.position !== position)
      this.#entry = { store, position, isOfMember: nodes.has(run) };
    if (procedure === "replica:join") {
      const { run: joined, node } = input as { readonly run: string; readonly node: string };
      for (const [former, at] of nodes) if (at === node) this.#remove(store, former);
      nodes.set(joined, node);
    } else if (!this.#entry.isOfMember) {
      this.#violations.add("expelled runs write nothing", `${run} wrote ${procedure} to ${store} and is no member`);
    } else if (procedure === "replica:leave") {
      this.#remove(store, run);
      this.#expelVotedOut(store);
    } else if (procedure === "replica:expel") {
      const { target, voter } = input as { readonly target: string; readonly voter: string };
      if (target !== voter && nodes.has(target) && nodes.has(voter)) {
        votes.set(target, (votes.get(target) ?? new Set()).add(voter));
        this.#expelVotedOut(store);
      }
    }
  }

  onEntry({ store, run, position }: { readonly store: string; readonly run: string; readonly position: number }): void {
    const { nodes, votes } = this.#of(store);
    const hasRequests = this.#entry?.store === store && this.#entry.position === position;
    if (!hasRequests && !nodes.has(run))
      this.#violations.add("expelled runs write nothing", `${run} wrote to ${store} and is no member`);
    votes.delete(run);
  }

  onMembers(store: string, members: readonly string[]): void {
    const expected = this.members(store);
    if (members.length !== expected.length || members.some((run) => !expected.includes(run)))
      this.#violations.add("a majority expels", `members of ${store} are ${members}, not ${expected}`);
  }

  #expelVotedOut(store: string): void {
    const { nodes, votes } = this.#of(store);
    for (;;) {
      const needed = nodes.size === 2 ? 1 : Math.floor(nodes.size / 2) + 1;
      const found = [...votes]
        .sort(([one], [other]) => (one < other ? -1 : 1))
        .find(([, voters]) => voters.size >= needed);
      if (found === undefined) return;
      this.#remove(store, found[0]);
    }
  }

  #remove(store: string, run: string): void {
    const { nodes, votes } = this.#of(store);
    nodes.delete(run);
    votes.delete(run);
    for (const voters of votes.values()) voters.delete(run);
  }

  #of(store: string): Members {
    let members = this.#stores.get(store);
    if (members === undefined) {
      members = { nodes: new Map(), votes: new Map() };
      this.#stores.set(store, members);
    }
    return members;
  }
}
