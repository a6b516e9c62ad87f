import { open } from "node:fs/promises";
import { writeWhole } from "../store/whole-file.ts";
import { itemLine } from "./entry-json.ts";
import type { Item } from "./item-store.ts";

/** Lines are gathered to writes of this size. */
const WRITE_CHARACTERS = 256 * 1024;

export interface ItemInScope {
  readonly scope: string;
  readonly item: Item;
}

/** The snapshot of an adapter without a file of its own: one line of JSON for each item. Rejects with `storage_failed`. */
export function writeSnapshotLines(
  file: string,
  pages: Iterable<Iterable<ItemInScope>> | AsyncIterable<Iterable<ItemInScope>>,
): Promise<{ readonly bytes: number }> {
  return writeWhole(file, async (draft) => {
    const handle = await open(draft, "wx", 0o600);
    try {
      let gathered = "";
      for await (const page of pages) {
        for (const { scope, item } of page) {
          gathered += `${itemLine(scope, item)}\n`;
          if (gathered.length < WRITE_CHARACTERS) continue;
          // Goes on where the one before ended.
          await handle.writeFile(gathered);
          gathered = "";
        }
      }
      await handle.writeFile(gathered);
    } finally {
      await handle.close();
    }
  });
}
