import type { NodeLink } from "../../../kernel/nodes/node-link.ts";
import { MemoryNetwork } from "../memory-link.ts";
import type { Scheduler } from "./scheduler.ts";
import type { LogFaultRates } from "./simulated-log.ts";

/** A machine, as far as the network is concerned. */
interface NetworkMachine {
  readonly linkRates: LogFaultRates;
  readonly isHeard: boolean;
  readonly isConnected: boolean;
}

/** An engine of a machine. `run` is undefined until it listens. */
interface NetworkLife {
  run: string | undefined;
}

/** The network between the engines. */
export class SimulatedNetwork {
  readonly #network: MemoryNetwork;
  readonly #nodeOfRun = new Map<string, NetworkMachine>();

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
  connect(node: NetworkMachine, life: NetworkLife): NodeLink {
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

  kill({ run }: NetworkLife): void {
    if (run !== undefined) this.#network.kill(run);
  }

  pause({ run }: NetworkLife): void {
    if (run !== undefined) this.#network.pause(run);
  }

  resume({ run }: NetworkLife): void {
    if (run !== undefined) this.#network.resume(run);
  }

  #isHeard(run: string): boolean {
    const node = this.#nodeOfRun.get(run);
    return node === undefined || (node.isHeard && node.isConnected);
  }
}
