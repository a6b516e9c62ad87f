import type { ModuleContext } from "../../kernel/module.ts";
import type { SystemStream } from "../../kernel/stream-contract.ts";
import { standingOf } from "./status.ts";
import type { Unit } from "./unit.ts";

/** Changes of one tenth of a second go out together, in milliseconds. */
const BATCH_MS = 100;

/** Tells on the stream `svc.local_workers` how each worker and command is, whenever that changes. */
export class StandingStream {
  readonly #clock: ModuleContext<unknown>["clock"];
  readonly #units: () => ReadonlyMap<string, Unit>;
  readonly #stream: SystemStream;
  /** What was sent last of each. */
  readonly #told = new Map<string, string>();
  #cancelBatch: (() => void) | undefined;

  constructor({ clock, streams }: Pick<ModuleContext<unknown>, "clock" | "streams">, units: () => ReadonlyMap<string, Unit>) {
    this.#clock = clock;
    this.#units = units;
    this.#stream = streams.provideSystemStream({
      name: "svc.local_workers",
      summary: "Workers and commands that the engine runs: state, reason, restarts, last exit",
      snapshot(id, access) {
        // Who may not ask for the list may not watch it either.
        const seen = access?.callRefusal("worker::list") === undefined ? units() : new Map<string, Unit>();
        const one = id === undefined ? undefined : seen.get(id);
        if (id !== undefined) return JSON.stringify(one === undefined ? null : itemOf(one));
        return JSON.stringify([...seen.values()].map(itemOf));
      },
    });
  }

  /** Something may be another than before. */
  changed(): void {
    this.#cancelBatch ??= this.#clock.after(BATCH_MS, () => this.#flush());
  }

  stop(): void {
    this.#cancelBatch?.();
    this.#stream.stop();
  }

  #flush(): void {
    this.#cancelBatch = undefined;
    if (this.#stream.subscribers === 0) {
      // Whoever joins next is told everything.
      this.#told.clear();
      return;
    }
    const units = this.#units();
    for (const id of [...this.#told.keys()]) {
      if (units.has(id)) continue;
      this.#told.delete(id);
      this.#stream.publish({ id, type: "delete", json: JSON.stringify({ id }) });
    }
    for (const [id, unit] of units) {
      const json = JSON.stringify(itemOf(unit));
      const before = this.#told.get(id);
      if (before === json) continue;
      this.#told.set(id, json);
      this.#stream.publish({ id, type: "update", json });
    }
  }
}

function itemOf(unit: Unit): unknown {
  return { id: unit.entry.name, ...standingOf(unit) };
}
