import type { ModuleContext } from "../../kernel/module.ts";
import type { SystemStream } from "../../kernel/stream-contract.ts";
import { unitSummary } from "./status.ts";
import type { Unit } from "./unit.ts";

/** Changes are collected for this time, in milliseconds. */
const BATCH_MS = 100;

/** Publishes the status of each worker and command on the stream `svc.local_workers` when it changes. */
export class StatusStream {
  readonly #clock: ModuleContext<unknown>["clock"];
  readonly #units: () => ReadonlyMap<string, Unit>;
  readonly #stream: SystemStream;
  /** The last published JSON of each unit. */
  readonly #published = new Map<string, string>();
  #cancelBatch: (() => void) | undefined;

  constructor(
    { clock, streams }: Pick<ModuleContext<unknown>, "clock" | "streams">,
    units: () => ReadonlyMap<string, Unit>,
  ) {
    this.#clock = clock;
    this.#units = units;
    this.#stream = streams.provideSystemStream({
      name: "svc.local_workers",
      summary: "Workers and commands that the engine runs: state, reason, restarts, last exit",
      snapshot(id, access) {
        // A caller that may not call worker::list may not read the stream either.
        const seen = access?.callRefusal("worker::list") === undefined ? units() : new Map<string, Unit>();
        const one = id === undefined ? undefined : seen.get(id);
        if (id !== undefined) return JSON.stringify(one === undefined ? null : itemOf(one));
        return JSON.stringify([...seen.values()].map(itemOf));
      },
    });
  }

  /** Call when the status of a unit may have changed. */
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
      // The next subscriber gets a snapshot of all units.
      this.#published.clear();
      return;
    }
    const units = this.#units();
    for (const id of [...this.#published.keys()]) {
      if (units.has(id)) continue;
      this.#published.delete(id);
      this.#stream.publish({ id, type: "delete", json: JSON.stringify({ id }) });
    }
    for (const [id, unit] of units) {
      const json = JSON.stringify(itemOf(unit));
      const before = this.#published.get(id);
      if (before === json) continue;
      this.#published.set(id, json);
      this.#stream.publish({ id, type: "update", json });
    }
  }
}

function itemOf(unit: Unit): unknown {
  return { id: unit.entry.name, ...unitSummary(unit) };
}
