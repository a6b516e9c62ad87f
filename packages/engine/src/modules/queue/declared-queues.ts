import type { Undo } from "../../kernel/scope.ts";
import type { QueueCore } from "./queue-core.ts";
import type { QueueSettings } from "./queue-settings.ts";

/** The queues that the current config declares. */
export class DeclaredQueues {
  readonly #core: QueueCore;
  readonly #declared = new Map<string, { readonly text: string; readonly undeclare: Undo }>();

  constructor(core: QueueCore) {
    this.#core = core;
  }

  /**
   * Applies a new config: declares new queues, declares changed queues again, and removes the queues that are not in
   * the new config. Jobs of a removed queue stay in the store until the queue is declared again.
   */
  apply(queues: readonly (readonly [string, QueueSettings])[]): void {
    const wanted = new Map(queues);
    for (const [name, { text, undeclare }] of this.#declared) {
      if (wanted.has(name) && JSON.stringify(wanted.get(name)) === text) continue;
      undeclare();
      this.#declared.delete(name);
    }
    for (const [name, settings] of wanted) {
      if (!this.#declared.has(name))
        this.#declared.set(name, { text: JSON.stringify(settings), undeclare: this.#core.declare(name, settings) });
    }
  }
}
