import type { Store } from "../../kernel/store-contract.ts";
import type { Delivery, Notice, Outbox } from "../outbox.ts";
import type { NoticeInput } from "./file-thread/deliveries.ts";
import type { ItemProcedures } from "./file-thread/procedures.ts";

/** Converts the sets of a notice to lists, because copying a set between threads is slower. */
export function noticeInput(notice: Notice): NoticeInput {
  return { watchers: notice.watchers.map(({ id, kinds }) => ({ id, kinds: [...kinds] })), origin: notice.origin };
}

/** Outbox in the database of the items. */
export class FileOutbox implements Outbox {
  readonly #call: Store<ItemProcedures>["call"];

  constructor(call: Store<ItemProcedures>["call"]) {
    this.#call = call;
  }

  pending({ watcher, after, limit, maxBytes }: Parameters<Outbox["pending"]>[0]): Promise<readonly Delivery[]> {
    return this.#call("pending", { watcher, after, limit, maxBytes });
  }

  acknowledge(deliveries: readonly Pick<Delivery, "seq" | "watcher">[]): Promise<void> {
    return this.#call(
      "acknowledge",
      deliveries.map(({ seq, watcher }) => ({ seq, watcher })),
    );
  }

  async discard(watcher: string): Promise<number> {
    let discarded = 0;
    let upTo: number | undefined;
    do {
      const step = await this.#call("discard", { watcher, upTo });
      discarded += step.discarded;
      upTo = step.upTo;
    } while (upTo !== undefined);
    return discarded;
  }

  watchers(): Promise<readonly { readonly watcher: string; readonly waiting: number }[]> {
    return this.#call("watchers", null);
  }
}
