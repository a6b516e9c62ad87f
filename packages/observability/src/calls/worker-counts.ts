import type { Directory, Undo } from "@svc-runtime/engine/module";

/**
 * Counts the workers that connected and disconnected since the engine started. Consoles, CLI commands and modules are
 * not counted.
 */
export class WorkerCounts {
  spawns = 0;
  deaths = 0;
  readonly #connected = new Set<string>();
  readonly #directory: Pick<Directory, "workers" | "workerById" | "onChange">;

  constructor(directory: Pick<Directory, "workers" | "workerById" | "onChange">) {
    this.#directory = directory;
  }

  get active(): number {
    return this.#connected.size;
  }

  start(): Undo {
    for (const { id, internal } of this.#directory.workers()) if (!internal) this.#onConnected(id);
    return this.#directory.onChange(({ kind, id, op }) => {
      if (kind !== "worker") return;
      if (op === "removed") this.#onDisconnected(id);
      // A worker is counted when it has sent its name and kind.
      else if (!this.#connected.has(id) && this.#directory.workerById(id)?.internal === false) this.#onConnected(id);
    });
  }

  #onConnected(id: string): void {
    this.#connected.add(id);
    this.spawns++;
  }

  #onDisconnected(id: string): void {
    if (this.#connected.delete(id)) this.deaths++;
  }
}
