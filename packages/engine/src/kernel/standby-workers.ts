import type { Session } from "./session.ts";
import type { Sessions } from "./sessions.ts";
import type { TriggerRegistry } from "./trigger-registry.ts";
import type { WorkerStandby } from "./worker-claims.ts";

/** Puts connections on standby. */
export class StandbyWorkers implements WorkerStandby {
  readonly #sessions: Sessions;
  readonly #triggers: TriggerRegistry;

  constructor(sessions: Sessions, triggers: TriggerRegistry) {
    this.#sessions = sessions;
    this.#triggers = triggers;
  }

  assign({ inService = [], standby = [] }: Parameters<WorkerStandby["assign"]>[0]): void {
    const changed = new Set([...this.#changed(inService, false), ...this.#changed(standby, true)]);
    if (changed.size > 0) this.#triggers.standbyChanged(changed);
  }

  async whenIdle(connections: Iterable<string>): Promise<void> {
    await Promise.all([...connections].map((id) => this.#sessions.byId(id)?.held.whenEmpty()));
  }

  #changed(connections: Iterable<string>, isStandby: boolean): Session[] {
    const sessions = [...connections].flatMap((id) => this.#sessions.byId(id) ?? []);
    const changed = sessions.filter((session) => session.isStandby !== isStandby);
    for (const session of changed) session.isStandby = isStandby;
    return changed;
  }
}
