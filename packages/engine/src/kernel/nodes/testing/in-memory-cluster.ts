import { randomUUID } from "node:crypto";
import { MemoryNetwork } from "../../../cluster/testing/memory-link.ts";
import { type InMemoryEngine, type InMemoryEngineOptions, inMemoryEngine } from "../../../testing/in-memory-engine.ts";
import { type ManualClock, manualClock } from "../../../testing/manual-clock.ts";

/** Time of one step of `advance`, in milliseconds. */
const STEP_MS = 100;

/** Whole engines in memory on one network, with one clock that only moves on demand. */
export class InMemoryCluster {
  readonly clock: ManualClock = manualClock();
  readonly network = new MemoryNetwork(this.clock);
  readonly #engines: InMemoryEngine[] = [];

  /** Starts an engine. Resolves when each of all engines knows all others. */
  async start(name: string, options: InMemoryEngineOptions = {}): Promise<InMemoryEngine> {
    const cluster = { link: this.network.connect(), node: randomUUID(), name };
    const engine = await inMemoryEngine({ clock: this.clock, ...options, cluster });
    this.#engines.push(engine);
    await this.exchange();
    return engine;
  }

  /** The engine ends without a word: no peer and no worker hears of it. */
  kill(engine: InMemoryEngine): void {
    this.network.kill(engine.kernel.identity.instanceId);
  }

  /** Resolves when what is under way has arrived, together with the responses to it. */
  async exchange(): Promise<void> {
    for (let turn = 0; turn < 10; turn++) await new Promise((resolve) => setImmediate(resolve));
  }

  async advance(ms: number): Promise<void> {
    for (let left = ms; left > 0; left -= STEP_MS) {
      this.clock.advance(Math.min(STEP_MS, left));
      await this.exchange();
    }
  }

  async stop(): Promise<void> {
    for (const engine of this.#engines.splice(0)) await engine.stop();
  }
}
