import type { Undo } from "../../kernel/scope.ts";
import type { QueueCore } from "./queue-core.ts";
import type { QueueSettings } from "./queue-settings.ts";

/** The queues of the config, as the config is now. */
export class DeclaredQueues {
  readonly #core: QueueCore;
  readonly #declared = new Map<string, { readonly text: string; readonly undeclare: Undo }>();

  constructor(core: QueueCore) {
    this.#core = core;
  }

  /** Declares what is new, declares anew what has changed, and lets go of what is gone; its jobs stay until it is declared again. */
  apply(queues: readonly (readonly [string, QueueSettings])[]): void {
    const wanted = new Map(queues);
    for (const [name, { text, undeclare }] of this.#declared) {
      if (wanted.has(name) && JSON.stringify(wanted.get(name)) === text) continue;
      undeclare();
      this.#declared.delete(name);
    }
    for (const [name, settings] of wanted) {
      if (!this.#declared.has(name)) this.#declared.set(name, { text: JSON.stringify(settings), undeclare: this.#core.declare(name, settings) });
    }
  }
}
