import type { Scheduler } from "./scheduler.ts";
import type { SimulatedNode } from "./simulated-node.ts";

const PROBE_MS = 1_000;
/** A node that was not heard at this many probes is gone. */
const MISSED_PROBES = 4;

/** Lets each node vote for expelling the runs of nodes that it does not hear. */
export class Expulsion {
  readonly #scheduler: Scheduler;
  readonly #nodes: readonly SimulatedNode[];
  readonly #nodeOfRun: ReadonlyMap<string, string>;

  constructor(scheduler: Scheduler, nodes: readonly SimulatedNode[], nodeOfRun: ReadonlyMap<string, string>) {
    this.#scheduler = scheduler;
    this.#nodes = nodes;
    this.#nodeOfRun = nodeOfRun;
  }

  /** Probes the other nodes as long as this life of the node lasts. */
  watch(node: SimulatedNode): void {
    const life = node.running;
    if (life === undefined) return;
    const missed = new Map<SimulatedNode, number>();
    const probe = (): void => {
      for (const other of this.#nodes) {
        if (other === node) continue;
        const count = node.isConnected && other.isAudible ? 0 : (missed.get(other) ?? 0) + 1;
        missed.set(other, count);
        if (count < MISSED_PROBES) continue;
        for (const { store } of life.stores.values())
          for (const run of store.members())
            if (this.#nodeOfRun.get(run) === other.name) store.expel(run).catch(() => {});
      }
      this.#scheduler.after(PROBE_MS, life.process, "probe", probe);
    };
    this.#scheduler.after(PROBE_MS, life.process, "probe", probe);
  }
}
