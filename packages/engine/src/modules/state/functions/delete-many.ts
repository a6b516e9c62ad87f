import { z } from "zod";
import type { ItemStore } from "../../../items/item-store.ts";
import type { ModuleContext } from "../../../kernel/module.ts";
import { deleteManyInput } from "../inputs.ts";
import { originOf, type StateServices } from "../state-services.ts";
import type { WriteOrigin, Writes } from "../writes.ts";

/** Maximum items and bytes per step. Bytes are limited because each step reads the items with their values first. */
const BATCH_ITEMS = 500;
const BATCH_BYTES = 4 * 1024 * 1024;

/** Provides `state::delete_many`. */
export function provideDeleteMany(context: ModuleContext<unknown>, { store, writes }: StateServices): void {
  context.provideFunction({
    id: "state::delete_many",
    summary:
      "Deletes the given keys in one step, or all keys with a prefix in steps of 500; returns the number of deleted items",
    input: deleteManyInput,
    output: z.object({ deleted: z.int().min(0) }),
    async handle({ scope, keys, prefix = "" }, caller) {
      const origin = originOf(caller);
      if (keys !== undefined) return { deleted: await writes.deleteMany(scope, keys, origin) };
      return { deleted: await deletePrefix({ store, writes, scope, prefix, origin, signal: caller.signal }) };
    },
  });
}

/**
 * Deletes the keys of a prefix in steps. After a failure or cancellation, keys that are already deleted stay deleted.
 */
async function deletePrefix(parts: {
  readonly store: ItemStore;
  readonly writes: Writes;
  readonly scope: string;
  readonly prefix: string;
  readonly origin: WriteOrigin;
  readonly signal: AbortSignal;
}): Promise<number> {
  const { store, writes, scope, prefix, origin, signal } = parts;
  let deleted = 0;
  let after: string | undefined;
  for (let more = true; more; ) {
    signal.throwIfAborted();
    const page = await store.page(scope, { prefix, after, limit: BATCH_ITEMS, maxBytes: BATCH_BYTES });
    const keys = page.items.map((item) => item.key);
    if (keys.length > 0) deleted += await writes.deleteMany(scope, keys, origin);
    after = keys[keys.length - 1];
    more = page.more && after !== undefined;
  }
  return deleted;
}
