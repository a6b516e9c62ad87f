// Clients that write and read items at each engine of a cluster, and what they saw.
import { connect, silentLogger, type Worker } from "@svc-runtime/sdk";
import { failureOf } from "../cluster-load/outcomes.ts";
import { eventually } from "../support/processes.ts";
import { type ClusterScene, NODES, type NodeName, within } from "./cluster-scene.ts";
import type { ItemCall } from "./porcupine.ts";
import { pause } from "./scene.ts";

/**
 * Timeout of calls. An engine lets a write wait 20 s for the log: most clients do not wait for its error, which says
 * whether the write was executed, and every third does.
 */
const [CALL_MS, LONG_CALL_MS] = [5_000, 30_000];
/** A call may be this much late: the machine is busy. */
const LATE_MS = 3_000;
const PROGRESS_MS = 90_000;
const READ_MS = 60_000;
/** Mean time between two calls of a client. */
const PAUSE_MS = 10;
/** Number of answers after which a client has gone on. */
const FURTHER = 20;
/** Number of clients of each engine, and of those that know all addresses. */
const CLIENTS = 3;
const SCOPE = "histories";
export const KEYS = ["k1", "k2", "k3", "k4", "k5", "k6"] as const;
export const KINDS = ["set", "update", "update", "update", "get", "get", "get", "delete"] as const;

interface Client {
  readonly number: number;
  /** Engine that it is connected to; `any` for one that knows all addresses. */
  readonly at: NodeName | "any";
  readonly worker: Worker;
  readonly timeoutMs: number;
}

export class HistoryClients {
  readonly #clients: readonly Client[];
  readonly #random: () => number;
  #history: ClientHistory | undefined;

  constructor(scene: ClusterScene, random: () => number) {
    this.#random = random;
    const places = [...NODES, "any" as const].flatMap((at) => Array.from({ length: CLIENTS }, () => at));
    this.#clients = places.map((at, number) => {
      const url = at === "any" ? NODES.map((name) => scene.url(name)).join(",") : scene.url(at);
      const reconnect = { initialDelayMs: 50, maxDelayMs: 500 };
      const options = { name: `client-${number}`, handleSignals: false, logger: silentLogger, reconnect };
      const timeoutMs = number % CLIENTS === CLIENTS - 1 ? LONG_CALL_MS : CALL_MS;
      return { number, at, timeoutMs, worker: connect(url, options) };
    });
  }

  /** Begins to write and read items that no other history has. The former history must have ended. */
  begin(number: number): ClientHistory {
    this.#history = new ClientHistory({ number, clients: this.#clients, random: this.#random });
    return this.#history;
  }

  async stop(): Promise<void> {
    this.#history?.stop();
    await Promise.all(this.#clients.map(({ worker }) => worker.shutdown({ timeoutMs: 1_000 })));
  }
}

/** The calls of all clients during one run. */
export class ClientHistory {
  readonly number: number;
  readonly calls: ItemCall[] = [];
  readonly #clients: readonly Client[];
  readonly #random: () => number;
  readonly #answered = new Map<Client, number>();
  #order = 0;
  #isOver = false;
  readonly #ended: Promise<unknown>;

  constructor(options: {
    readonly number: number;
    readonly clients: readonly Client[];
    readonly random: () => number;
  }) {
    this.number = options.number;
    this.#clients = options.clients;
    this.#random = options.random;
    this.#ended = Promise.all(this.#clients.map((client) => this.#run(client)));
    this.#ended.catch(() => undefined);
  }

  async #run(client: Client): Promise<void> {
    let isUnsure = false;
    while (!this.#isOver) {
      // The effort of the check doubles with each write of unknown outcome: after one, a client reads until it is answered.
      const kind = isUnsure ? "get" : this.#pick(KINDS);
      const status = await this.#call(client, kind, this.#pick(KEYS));
      if (status === "ok") isUnsure = false;
      else if (status === "unknown" && kind !== "get") isUnsure = true;
      await pause(this.#random() * 2 * PAUSE_MS);
    }
  }

  #pick<T>(from: readonly T[]): T {
    return from[Math.floor(this.#random() * from.length)] as T;
  }

  /** Resolves with the outcome. */
  async #call(client: Client, kind: ItemCall["kind"], key: string): Promise<"ok" | "failed" | "unknown"> {
    const id = this.calls.length + 1;
    const call: ItemCall = { client: client.number, key, kind, id, begin: ++this.#order, end: 0, outcome: undefined };
    this.calls.push(call);
    const [function_id, members] = {
      get: ["state::get_entry", {}],
      delete: ["state::delete", {}],
      set: ["state::set", { value: { n: 0, by: id } }],
      update: [
        "state::update",
        {
          ops: [
            { type: "increment", path: "n", by: 1 },
            { type: "set", path: "by", value: id },
          ],
        },
      ],
    }[kind] as [string, object];
    const payload = { scope: SCOPE, key: `${this.number} ${key}`, ...members };
    const { timeoutMs, worker } = client;
    call.outcome = await within(
      timeoutMs + LATE_MS,
      `the end of a call of ${function_id}`,
      worker.call({ function_id, payload, timeoutMs }),
    ).then(
      (output) => ({ status: "ok", output }),
      (error: unknown) => ({ status: failureOf(error) === "no" ? "failed" : "unknown" }),
    );
    call.end = ++this.#order;
    const { status } = call.outcome;
    if (status === "ok") this.#answered.set(client, (this.#answered.get(client) ?? 0) + 1);
    return status;
  }

  /** Resolves when each client has had further answers. */
  async progress(): Promise<void> {
    const before = new Map(this.#answered);
    const isFurther = (client: Client): boolean =>
      (this.#answered.get(client) ?? 0) > (before.get(client) ?? 0) + FURTHER;
    const answered = eventually("each client has further answers", () => this.#clients.every(isFurther), PROGRESS_MS);
    // It ends earlier only if it fails.
    await Promise.race([answered, this.#ended]);
  }

  /** Ends the calls, and reads each item at each engine. All processes must run. */
  async finish(): Promise<void> {
    this.stop();
    await within(LONG_CALL_MS + 2 * LATE_MS, "the end of the last calls", this.#ended);
    for (const key of KEYS)
      for (const client of this.#clients.filter(({ number }) => number % CLIENTS === 0))
        await eventually(
          `${key} is read at ${client.at}`,
          async () => (await this.#call(client, "get", key)) === "ok",
          READ_MS,
        );
  }

  stop(): void {
    this.#isOver = true;
  }
}
