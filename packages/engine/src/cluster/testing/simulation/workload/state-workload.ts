import { type CallOutcome, callEngine } from "../client.ts";
import type { Scheduler } from "../scheduler.ts";
import type { RunningEngine } from "../simulated-node.ts";

export type ItemOperationKind = "set" | "update" | "delete" | "get";

/** A call of a client to an item, with the order of its begin and end among all calls. */
export interface ItemOperation {
  readonly client: number;
  readonly key: string;
  readonly kind: ItemOperationKind;
  /** Unique among all operations; part of the written value. */
  readonly id: number;
  readonly begin: number;
  end: number;
  outcome: CallOutcome | undefined;
}

/** A value in the store: the writer's operation and how often it was updated since it was set. */
export interface ItemValue {
  readonly n: number;
  readonly by: number;
}

/** Writes and reads items, and keeps what the clients saw. */
export class StateWorkload {
  readonly operations: ItemOperation[] = [];
  readonly #scheduler: Scheduler;
  #order = 0;

  constructor(scheduler: Scheduler) {
    this.#scheduler = scheduler;
  }

  async step(client: number, life: RunningEngine): Promise<void> {
    const { random } = this.#scheduler;
    const kind = random.pick<ItemOperationKind>(["set", "update", "update", "update", "get", "get", "get", "delete"]);
    await this.perform(client, life, kind, random.pick(["k1", "k2"]));
  }

  async perform(client: number, life: RunningEngine, kind: ItemOperationKind, key: string): Promise<void> {
    const id = this.operations.length + 1;
    const operation: ItemOperation = { client, key, kind, id, begin: ++this.#order, end: 0, outcome: undefined };
    this.operations.push(operation);
    const address = { scope: "s", key };
    const [functionId, payload] = {
      get: ["state::get_entry", address],
      delete: ["state::delete", address],
      set: ["state::set", { ...address, value: { n: 0, by: id } }],
      update: [
        "state::update",
        {
          ...address,
          ops: [
            { type: "increment", path: "n", by: 1 },
            { type: "set", path: "by", value: id },
          ],
        },
      ],
    }[kind] as [string, unknown];
    operation.outcome = await callEngine(this.#scheduler, life, functionId, payload);
    operation.end = ++this.#order;
  }
}
