import { open } from "node:fs/promises";
import { writeWhole } from "../store/whole-file.ts";
import { itemLine } from "./entry-json.ts";
import type { Item } from "./item-store.ts";

/** Lines are buffered until they have this many characters, and then written together. */
const WRITE_CHARACTERS = 256 * 1024;

export interface ItemInScope {
  readonly scope: string;
  readonly item: Item;
}

/**
 * Writes an NDJSON snapshot with one line per item, for adapters without a database file. Rejects with
 * `storage_failed`.
 */
export function writeSnapshotLines(
  file: string,
  pages: Iterable<Iterable<ItemInScope>> | AsyncIterable<Iterable<ItemInScope>>,
): Promise<{ readonly bytes: number }> {
  return writeWhole(file, async (draft) => {
    const handle = await open(draft, "wx", 0o600);
    try {
      let buffered = "";
      for await (const page of pages) {
        for (const { scope, item } of page) {
          buffered += `${itemLine(scope, item)}\n`;
          if (buffered.length < WRITE_CHARACTERS) continue;
          // This appends, because a file handle keeps its position between writes.
          await handle.writeFile(buffered);
          buffered = "";
        }
      }
      await handle.writeFile(buffered);
    } finally {
      await handle.close();
    }
  });
}
