import type { Worker } from "@svc-runtime/sdk";
import { eventually } from "../support/processes.ts";
import { type FinalItem, repetitions, toldTo } from "./check-history.ts";
import type { History } from "./journal.ts";
import type { Load } from "./load.ts";
import { WORKERS } from "./plan.ts";

/** Resolves when each worker's trigger is active: from then on no event may be missed. */
export async function watchersAreBound(worker: Worker): Promise<void> {
  await eventually("the triggers of all four workers are active", async () => {
    const { registered_triggers: triggers } = await worker.call<{
      registered_triggers: { trigger_type: string; status: string }[];
    }>({
      function_id: "engine::registered-triggers::list",
      payload: {},
    });
    return (
      triggers.filter(({ trigger_type, status }) => trigger_type === "state" && status === "active").length === WORKERS
    );
  });
}

/** Returns the items of the load, sorted by key. */
export async function finalItems(worker: Worker): Promise<FinalItem[]> {
  const { items } = await worker.call<{ items: FinalItem[] }>({
    function_id: "state::entries",
    payload: { scope: "load", limit: 1_000 },
  });
  return items;
}

/** Resolves when the watchers have received the last version of each item. */
export async function settled(load: Load, worker: Worker): Promise<void> {
  const items = await finalItems(worker);
  await eventually(
    "every change was told",
    () => {
      const told = toldTo(load.history());
      return items.every(({ key, version }) => told.get(key) === version);
    },
    60_000,
  );
}

/** e.g. `9950 writes acknowledged, 50 not (50 disconnected); 9990 events, 20 of them again`. */
export function summaryOf(history: History): string {
  const { acks, events, failures } = history;
  const failed = [...failures.values()].reduce((sum, count) => sum + count, 0);
  const codes = [...failures].map(([code, count]) => `${count} ${code}`).join(", ");
  return `${acks.length} writes acknowledged, ${failed} not${failed === 0 ? "" : ` (${codes})`}; ${events.length} events, ${repetitions(history)} of them again`;
}
