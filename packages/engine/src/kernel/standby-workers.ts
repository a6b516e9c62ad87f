import type { Session } from "./session.ts";
import type { Sessions } from "./sessions.ts";
import type { TriggerRegistry } from "./triggers/trigger-registry.ts";
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
    const changed = [...this.#changed(inService, false), ...this.#changed(standby, true)];
    // Most changes concern a connection that was just opened. It has no triggers yet, so nothing must be updated.
    const addTriggers = changed.filter(
      ({ triggerCount, triggerTypeIds }) => triggerCount > 0 || !isEmpty(triggerTypeIds),
    );
    if (addTriggers.length > 0) this.#triggers.standbyChanged(new Set(addTriggers));
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

function isEmpty(values: Iterable<unknown>): boolean {
  for (const _ of values) return false;
  return true;
}
