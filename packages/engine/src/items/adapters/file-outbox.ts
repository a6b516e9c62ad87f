import type { Store } from "../../store/store.ts";
import type { Delivery, Notice, Outbox } from "../outbox.ts";
import type { NoticeInput } from "./file-thread/deliveries.ts";
import type { ItemProcedures } from "./file-thread/procedures.ts";

/** A set of names in a message between threads costs more than a list. */
export function noticeInput(notice: Notice): NoticeInput {
  return { watchers: notice.watchers.map(({ id, kinds }) => ({ id, kinds: [...kinds] })), origin: notice.origin };
}

/** The outbox that lies in the database of the items. */
export class FileOutbox implements Outbox {
  readonly #call: Store<ItemProcedures>["call"];

  constructor(call: Store<ItemProcedures>["call"]) {
    this.#call = call;
  }

  pending({ watcher, after, limit, maxBytes }: Parameters<Outbox["pending"]>[0]): Promise<readonly Delivery[]> {
    return this.#call("pending", { watcher, after, limit, maxBytes });
  }

  served(deliveries: readonly Pick<Delivery, "seq" | "watcher">[]): Promise<void> {
    return this.#call(
      "served",
      deliveries.map(({ seq, watcher }) => ({ seq, watcher })),
    );
  }

  async forget(watcher: string): Promise<number> {
    let forgotten = 0;
    let upTo: number | undefined;
    do {
      const step = await this.#call("forget", { watcher, upTo });
      forgotten += step.forgotten;
      upTo = step.upTo;
    } while (upTo !== undefined);
    return forgotten;
  }

  watchers(): Promise<readonly { readonly watcher: string; readonly waiting: number }[]> {
    return this.#call("watchers", null);
  }
}
