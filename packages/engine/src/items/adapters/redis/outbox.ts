import { compareKeys } from "../../key-order.ts";
import type { ChangeKind, Delivery, Outbox } from "../../outbox.ts";
import type { RedisConnection } from "./connection.ts";
import { type Script, scripts } from "./script.ts";

/** Maximum number of deliveries per script, so that a script does not block the server for long. */
const BATCH = 1_000;

type DeliveryReply = readonly [
  string,
  ChangeKind,
  string,
  string,
  string,
  string,
  string,
  string | null,
  string | null,
];

/** Outbox in Redis. Contains the deliveries of this engine's writes only. */
export class RedisOutbox implements Outbox {
  readonly #connection: RedisConnection;
  readonly #prefix: string;
  readonly #owner: string;

  constructor(connection: RedisConnection, prefix: string, owner: string) {
    this.#connection = connection;
    this.#prefix = prefix;
    this.#owner = owner;
  }

  pending(request: {
    readonly watcher: string;
    readonly after: number;
    readonly limit: number;
    readonly maxBytes: number;
  }): Promise<readonly Delivery[]> {
    const { watcher, after, limit, maxBytes } = request;
    return this.#run(scripts.pending, [watcher, after, limit, maxBytes], (reply) =>
      (reply as readonly DeliveryReply[]).map((one) => deliveryOf(watcher, one)),
    );
  }

  async acknowledge(deliveries: readonly Pick<Delivery, "seq" | "watcher">[]): Promise<void> {
    const batches = Array.from({ length: Math.ceil(deliveries.length / BATCH) }, (_, index) =>
      deliveries.slice(index * BATCH, (index + 1) * BATCH),
    );
    await Promise.all(
      batches.map((batch) =>
        this.#run(
          scripts.acknowledge,
          batch.flatMap(({ watcher, seq }) => [watcher, seq]),
          () => undefined,
        ),
      ),
    );
  }

  async discard(watcher: string): Promise<number> {
    let dropped = 0;
    let last = "";
    for (;;) {
      const [some, end] = await this.#run(
        scripts.discard,
        [watcher, BATCH, last],
        (reply) => reply as readonly [number, string],
      );
      dropped += some;
      last = end;
      if (some < BATCH) return dropped;
    }
  }

  async watchers(): Promise<readonly { readonly watcher: string; readonly waiting: number }[]> {
    return this.#run(scripts.watchers, [], (reply) =>
      (reply as readonly (readonly [string, string])[])
        .map(([watcher, waiting]) => ({ watcher, waiting: Number(waiting) }))
        .sort((a, b) => compareKeys(a.watcher, b.watcher)),
    );
  }

  #run<T>(script: Script, args: readonly (string | number)[], read: (reply: unknown) => T): Promise<T> {
    return this.#connection.request<T>(0, (request, settle) =>
      request.run(script, [this.#prefix, this.#owner, ...args], (error, reply) => {
        if (error === undefined) settle.resolve(read(reply));
        else settle.reject(error);
      }),
    );
  }
}

function deliveryOf(
  watcher: string,
  [seq, kind, scope, key, version, at, origin, previous, json]: DeliveryReply,
): Delivery {
  const change = {
    kind,
    scope,
    key,
    version: Number(version),
    previous: previous ?? undefined,
    json: json ?? undefined,
    at: Number(at),
  };
  return { seq: Number(seq), watcher, change, origin };
}
