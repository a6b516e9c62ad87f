import { z } from "zod";
import type { ItemStore } from "../../../items/item-store.ts";
import type { ModuleContext } from "../../../kernel/module.ts";
import type { WriteOrigin } from "../change-listener.ts";
import { deleteManyInput } from "../inputs.ts";
import { originOf, type StateServices } from "../state-services.ts";
import type { Writes } from "../writes.ts";

/** Items of a prefix that are deleted in one step; their values are read for it. */
const BATCH_ITEMS = 500;
const BATCH_BYTES = 4 * 1024 * 1024;

/** `state::delete_many`. */
export function provideDeletingMany(context: ModuleContext<unknown>, { store, writes }: StateServices): void {
  context.provideFunction({
    id: "state::delete_many",
    summary: "Removes the keys named, in one step, or all keys that begin with a prefix, in steps of 500; answers how many there were",
    input: deleteManyInput,
    output: z.object({ deleted: z.int().min(0) }),
    async handle({ scope, keys, prefix = "" }, caller) {
      const origin = originOf(caller);
      if (keys !== undefined) return { deleted: await writes.deleteMany(scope, keys, origin) };
      return { deleted: await deletePrefix({ store, writes, scope, prefix, origin, signal: caller.signal }) };
    },
  });
}

/** Goes once through the keys that are there. What was deleted before a failure, or before the caller gave up, stays deleted. */
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
