import type { NodeLink } from "../../../kernel/nodes/node-link.ts";
import { MemoryNetwork } from "../memory-link.ts";
import type { Scheduler } from "./scheduler.ts";
import type { Life, SimulatedNode } from "./simulated-node.ts";

/** The network between the engines. */
export class SimulatedNetwork {
  readonly #network: MemoryNetwork;
  readonly #nodeOfRun = new Map<string, SimulatedNode>();

  constructor(scheduler: Scheduler) {
    const after = (ms: number, action: () => void): (() => void) => scheduler.after(ms, undefined, "link", action);
    const clock = { now: () => scheduler.now, monotonic: () => scheduler.now, after };
    this.#network = new MemoryNetwork(clock, (action) => void after(0, action));
    const { random } = scheduler;
    const isCut = (one: string, other: string): boolean => !this.#isHeard(one) || !this.#isHeard(other);
    this.#network.partition(isCut);
    this.#network.faults.delayMs = () => scheduler.latency(3);
    this.#network.faults.copies = (from) => {
      const rates = this.#nodeOfRun.get(from)?.linkRates;
      if (rates === undefined || !random.chance(rates.dropped + rates.repeated)) return 1;
      return random.next() * (rates.dropped + rates.repeated) < rates.dropped ? 0 : 2;
    };
  }

  /** Connects an engine that starts. */
  connect(node: SimulatedNode, life: Life): NodeLink {
    const link = this.#network.connect();
    return {
      ...link,
      listen: (run, onMessage) => {
        this.#nodeOfRun.set(run, node);
        life.run = run;
        return link.listen(run, onMessage);
      },
    };
  }

  kill({ run }: Life): void {
    if (run !== undefined) this.#network.kill(run);
  }

  pause({ run }: Life): void {
    if (run !== undefined) this.#network.pause(run);
  }

  resume({ run }: Life): void {
    if (run !== undefined) this.#network.resume(run);
  }

  #isHeard(run: string): boolean {
    const node = this.#nodeOfRun.get(run);
    return node === undefined || (node.isHeard && node.isConnected);
  }
}
