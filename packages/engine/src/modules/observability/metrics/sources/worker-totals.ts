import type { Directory } from "../../../../kernel/directory.ts";
import type { Undo } from "../../../../kernel/scope.ts";

/** Connections of workers that have come and gone since the module started. */
export class WorkerTotals {
  readonly #directory: Directory;
  readonly #connected = new Set<string>();
  readonly #stop: Undo;
  #spawns = 0;
  #deaths = 0;

  constructor(directory: Directory) {
    this.#directory = directory;
    this.#stop = directory.onChange(({ kind, id, op }) => {
      if (kind !== "worker") return;
      if (op === "removed") {
        if (this.#connected.delete(id)) this.#deaths++;
      } else if (!this.#connected.has(id)) this.#look(id);
    });
  }

  counts(): { readonly spawns: number; readonly deaths: number; readonly active: number } {
    return { spawns: this.#spawns, deaths: this.#deaths, active: this.#connected.size };
  }

  stop(): void {
    this.#stop();
  }

  /** A connection counts once it has introduced itself as a worker. */
  #look(id: string): void {
    const worker = this.#directory.workerById(id);
    if (worker === undefined || worker.status !== "connected" || worker.internal) return;
    this.#connected.add(id);
    this.#spawns++;
  }
}
