import { randomUUID } from "node:crypto";
import { MemoryNetwork } from "../../../cluster/testing/memory-link.ts";
import { type InMemoryEngine, type InMemoryEngineOptions, inMemoryEngine } from "../../../testing/in-memory-engine.ts";
import { type ManualClock, manualClock } from "../../../testing/manual-clock.ts";

/** Time of one step of `advance`, in milliseconds. */
const STEP_MS = 100;

export interface ClusterEngineOptions extends InMemoryEngineOptions {
  /** How far the engine's clock is ahead of that of others, in milliseconds. Default 0. */
  readonly aheadMs?: number;
}

/** Whole engines in memory on one network. Their clocks move on demand, and that of a killed engine stands still. */
export class InMemoryCluster {
  readonly #clock: ManualClock = manualClock();
  readonly network = new MemoryNetwork(this.#clock);
  readonly #clocks = new Map<InMemoryEngine, ManualClock>();
  readonly #killed = new Set<InMemoryEngine>();

  /** Starts an engine. Resolves when each of all engines knows all others. */
  async start(name: string, { aheadMs = 0, ...options }: ClusterEngineOptions = {}): Promise<InMemoryEngine> {
    const cluster = { link: this.network.connect(), node: randomUUID(), name };
    const clock = manualClock(this.#clock.now() + aheadMs);
    const engine = await inMemoryEngine({ clock, ...options, cluster });
    this.#clocks.set(engine, clock);
    await this.exchange();
    return engine;
  }

  /** Sets the clock of an engine while it runs, to this far ahead of that of the others. */
  setClock(engine: InMemoryEngine, aheadMs: number): void {
    this.#clocks.get(engine)?.jumpTo(this.#clock.now() + aheadMs);
  }

  /** The engine ends without a word: no peer and no worker hears of it. */
  kill(engine: InMemoryEngine): void {
    this.#killed.add(engine);
    this.network.kill(engine.kernel.identity.instanceId);
  }

  /** Resolves when what is under way has arrived, together with the responses to it. */
  async exchange(): Promise<void> {
    for (let turn = 0; turn < 10; turn++) await new Promise((resolve) => setImmediate(resolve));
  }

  /** Moves all clocks in small steps, and lets arrive what is sent in each. */
  async advance(ms: number): Promise<void> {
    for (let left = ms; left > 0; left -= STEP_MS) {
      const ms = Math.min(STEP_MS, left);
      this.#clock.advance(ms);
      for (const [engine, clock] of this.#clocks) if (!this.#killed.has(engine)) clock.advance(ms);
      await this.exchange();
    }
  }

  async stop(): Promise<void> {
    this.#killed.clear();
    for (const engine of this.#clocks.keys()) {
      let isStopped = false;
      const stopped = engine.stop().finally(() => {
        isStopped = true;
      });
      // Modules give their work time to end.
      while (!isStopped) await this.advance(STEP_MS);
      await stopped;
    }
    this.#clocks.clear();
  }
}
