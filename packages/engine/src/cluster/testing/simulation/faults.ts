import { rmSync } from "node:fs";
import { join } from "node:path";
import { saveSnapshot } from "../../../store/replicated/save-snapshot.ts";
import type { SharedParts } from "./shared-parts.ts";
import type { SimulatedNode } from "./simulated-node.ts";

/** Time between two faults, in milliseconds. */
const PAUSE_MS = 2_000;

type Fault = (node: SimulatedNode) => void | Promise<void>;

/** Draws faults from the seed, and ends them. */
export class Faults {
  readonly #parts: SharedParts;
  readonly #nodes: readonly SimulatedNode[];
  readonly #faults: Readonly<Record<string, Fault>>;
  #snapshots = 0;
  #isEnded = false;

  constructor(parts: SharedParts, nodes: readonly SimulatedNode[]) {
    const { random } = parts;
    this.#parts = parts;
    this.#nodes = nodes;
    this.#faults = {
      kill: (node) => this.#kill(node, false),
      kill_and_lose: (node) => this.#kill(node, true),
      pause: (node) => {
        node.pause();
        this.#later(random.pick([500, 2_000, 12_000]), `${node.name} continues`, () => node.resume());
      },
      partition: (node) => {
        node.setConnected(false);
        this.#later(random.pick([500, 3_000, 15_000]), `${node.name} is connected`, () => node.setConnected(true));
      },
      silence: (node) => {
        node.isHeard = false;
        this.#later(8_000, `${node.name} is heard`, () => {
          node.isHeard = true;
        });
      },
      skew: (node) => node.setSkew(random.int(-10_000, 10_000)),
      disk_full: (node) => {
        node.setDiskFull(true);
        this.#later(random.pick([1_000, 6_000]), `${node.name} has room`, () => node.setDiskFull(false));
      },
      forget_ids: () => {
        for (const store of this.#parts.stores) this.#parts.logOf(store).log.forgetIds();
      },
      snapshot: (node) => this.#snapshot(node),
      restart_two: (node) => {
        const other = random.pick(this.#nodes);
        for (const each of new Set([node, other])) {
          each.kill();
          this.#later(50, `${each.name} starts`, () => each.startIfEnded());
        }
      },
    };
  }

  /** Sets how often messages are lost, repeated, and threads end; then draws faults until the end. */
  start(): void {
    const { random } = this.#parts;
    for (const node of this.#nodes) {
      node.rates.dropped = random.pick([0, 0.02, 0.1]);
      node.rates.repeated = random.pick([0, 0.1]);
      node.linkRates.dropped = random.pick([0, 0.02, 0.2]);
      node.linkRates.repeated = random.pick([0, 0.1]);
      node.crashRate = random.pick([0, 0, 0.02]);
      node.skewMs = random.chance(0.5) ? random.int(-10_000, 10_000) : 0;
    }
    this.#draw();
  }

  /** Ends all faults, so that the system can settle. One machine may be off from now on. */
  end(): void {
    this.#isEnded = true;
    const { random } = this.#parts;
    if (random.chance(0.4)) {
      const node = random.pick(this.#nodes);
      this.#parts.scheduler.note(`${node.name} is off`);
      node.isOff = true;
      node.kill();
    }
    for (const node of this.#nodes) {
      node.rates.dropped = node.rates.repeated = node.crashRate = 0;
      node.linkRates.dropped = node.linkRates.repeated = 0;
      node.isHeard = true;
      node.setConnected(true);
      node.setDiskFull(false);
      node.resume();
      node.startIfEnded();
    }
  }

  #draw(): void {
    const { random, scheduler } = this.#parts;
    this.#later(random.next() * 2 * PAUSE_MS, "fault", () => {
      const name = random.pick(Object.keys(this.#faults));
      const node = random.pick(this.#nodes);
      scheduler.note(`fault ${name} at ${node.name}`);
      void this.#faults[name]?.(node);
      this.#draw();
    });
  }

  /** A majority must stay, or nothing is left to check. */
  #kill(node: SimulatedNode, isLost: boolean): void {
    const { random } = this.#parts;
    if (this.#nodes.filter(({ running }) => running !== undefined).length <= this.#nodes.length / 2) return;
    node.kill();
    if (isLost) node.loseDisk();
    this.#later(random.pick([50, 2_000, 10_000]), `${node.name} starts`, () => node.startIfEnded());
  }

  async #snapshot(node: SimulatedNode): Promise<void> {
    const [found] = [...(node.running?.stores ?? [])].filter(() => this.#parts.random.chance(0.5));
    if (found === undefined) return;
    const [name, { store, connection }] = found;
    this.#snapshots += 1;
    const draft = join(this.#parts.folder, `${this.#snapshots}.snapshot`);
    await saveSnapshot(store, { log: connection, seeds: this.#parts.logOf(name).seeds, draft }).catch(() =>
      rmSync(draft, { force: true }),
    );
  }

  #later(ms: number, label: string, action: () => void): void {
    this.#parts.scheduler.after(ms, undefined, label, () => {
      if (!this.#isEnded) action();
    });
  }
}
