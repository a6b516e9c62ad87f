import type { ItemStore } from "../../item-store.ts";
import type { ItemInScope } from "../../snapshot-lines.ts";

const PAGE = { limit: 500, maxBytes: 4 * 1024 * 1024 };

type Pages = Pick<ItemStore, "groups" | "page">;

/**
 * Yields all items, page by page. This is not a consistent snapshot: an item that is written during the read appears
 * with its old or its new value.
 */
export async function* allItems(items: Pages): AsyncGenerator<readonly ItemInScope[]> {
  for (let after: string | undefined, hasMore = true; hasMore; ) {
    const { groups, more } = await items.groups({ prefix: "", after, limit: PAGE.limit });
    for (const { scope } of groups) yield* itemsOf(items, scope);
    after = groups[groups.length - 1]?.scope;
    hasMore = more;
  }
}

async function* itemsOf(items: Pages, scope: string): AsyncGenerator<readonly ItemInScope[]> {
  for (let after: string | undefined, hasMore = true; hasMore; ) {
    const page = await items.page(scope, { prefix: "", after, ...PAGE });
    yield page.items.map((item) => ({ scope, item }));
    after = page.items[page.items.length - 1]?.key;
    hasMore = page.more;
  }
}
