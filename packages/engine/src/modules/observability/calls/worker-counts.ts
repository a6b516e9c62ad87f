import type { Directory } from "../../../kernel/directory.ts";
import type { Undo } from "../../../kernel/scope.ts";

/** Worker processes that came and went since the start; the console, commands and modules are not counted. */
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
    for (const { id, internal } of this.#directory.workers()) if (!internal) this.#came(id);
    return this.#directory.onChange(({ kind, id, op }) => {
      if (kind !== "worker") return;
      if (op === "removed") this.#went(id);
      // A worker is one from when it has said so.
      else if (!this.#connected.has(id) && this.#directory.workerById(id)?.internal === false) this.#came(id);
    });
  }

  #came(id: string): void {
    this.#connected.add(id);
    this.spawns++;
  }

  #went(id: string): void {
    if (this.#connected.delete(id)) this.deaths++;
  }
}
