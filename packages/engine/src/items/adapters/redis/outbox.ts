import { compareKeys } from "../../key-order.ts";
import type { ChangeKind, Delivery, Outbox } from "../../outbox.ts";
import type { RedisLink } from "./link.ts";
import { type Script, scripts } from "./script.ts";

/** Deliveries that one script handles, so that it does not keep the server from others. */
const BATCH = 1_000;

type DeliveryReply = readonly [string, ChangeKind, string, string, string, string, string, string | null, string | null];

/** Deliveries that this engine's writes left in Redis. */
export class RedisOutbox implements Outbox {
  readonly #link: RedisLink;
  readonly #prefix: string;
  readonly #owner: string;

  constructor(link: RedisLink, prefix: string, owner: string) {
    this.#link = link;
    this.#prefix = prefix;
    this.#owner = owner;
  }

  pending(request: { readonly watcher: string; readonly after: number; readonly limit: number; readonly maxBytes: number }): Promise<readonly Delivery[]> {
    const { watcher, after, limit, maxBytes } = request;
    return this.#run(scripts.pending, [watcher, after, limit, maxBytes], (reply) => (reply as readonly DeliveryReply[]).map((one) => deliveryOf(watcher, one)));
  }

  async served(deliveries: readonly Pick<Delivery, "seq" | "watcher">[]): Promise<void> {
    const batches = Array.from({ length: Math.ceil(deliveries.length / BATCH) }, (_, index) => deliveries.slice(index * BATCH, (index + 1) * BATCH));
    await Promise.all(
      batches.map((batch) =>
        this.#run(
          scripts.served,
          batch.flatMap(({ watcher, seq }) => [watcher, seq]),
          () => undefined,
        ),
      ),
    );
  }

  async forget(watcher: string): Promise<number> {
    let dropped = 0;
    let last = "";
    for (;;) {
      const [some, end] = await this.#run(scripts.forget, [watcher, BATCH, last], (reply) => reply as readonly [number, string]);
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
    return this.#link.request<T>(0, (ticket, settle) =>
      ticket.run(script, [this.#prefix, this.#owner, ...args], (error, reply) => {
        if (error === undefined) settle.resolve(read(reply));
        else settle.reject(error);
      }),
    );
  }
}

function deliveryOf(watcher: string, [seq, kind, scope, key, version, at, origin, previous, json]: DeliveryReply): Delivery {
  const change = { kind, scope, key, version: Number(version), previous: previous ?? undefined, json: json ?? undefined, at: Number(at) };
  return { seq: Number(seq), watcher, change, origin };
}
