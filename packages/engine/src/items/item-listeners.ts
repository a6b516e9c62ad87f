import type { Undo } from "../kernel/scope.ts";
import type { AppliedItem, ItemWrite, ItemWritten } from "./item-store.ts";

/** The listeners of an item store's `onApplied`. */
export class ItemListeners {
  readonly #listeners = new Set<(applied: AppliedItem) => void>();

  get isEmpty(): boolean {
    return this.#listeners.size === 0;
  }

  add(listener: (applied: AppliedItem) => void): Undo {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  report(applied: AppliedItem): void {
    for (const listener of this.#listeners) listener(applied);
  }

  reportOwn(written: ItemWritten, { notice, mark }: Pick<ItemWrite, "notice" | "mark">): void {
    if (!this.isEmpty) this.report({ written, origin: notice?.origin, mark });
  }
}
