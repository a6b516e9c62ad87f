import { existsSync, mkdirSync, renameSync } from "node:fs";
import { dirname } from "node:path";
import { type Logger, type OpenStore, type Store, systemClock } from "@svc-runtime/engine/module";
import { openDatabase } from "@svc-runtime/engine/store";
import type { SpanProcedures } from "./procedures.ts";

/**
 * Suffixes of the files that belong to the database. SQLite stores its write-ahead log in files beside the database
 * file.
 */
const PARTS = ["", "-wal", "-shm"];

interface SpanFile {
  /** Absolute path. */
  readonly file: string;
  readonly log: Logger;
  readonly nowMs: number;
  readonly openStore: OpenStore;
}

/**
 * Opens the file. If it is damaged, renames it and creates a new one: the engine must start, and only history is lost.
 */
export async function openSpanFile({ file, log, nowMs, openStore }: SpanFile): Promise<Store<SpanProcedures>> {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  try {
    return await open(file, openStore);
  } catch (error) {
    const aside = `${file}.damaged-${nowMs}`;
    log.error("the span file cannot be opened; it was renamed and a new one created", { file, aside, error });
    for (const part of PARTS) if (existsSync(file + part)) renameSync(file + part, aside + part);
    return open(file, openStore);
  }
}

async function open(file: string, openStore: OpenStore): Promise<Store<SpanProcedures>> {
  if (!existsSync(file)) makeShrinkable(file);
  return openStore<SpanProcedures>({
    file,
    procedures: new URL("./procedures.js", import.meta.url),
    clock: systemClock,
    durability: "relaxed",
    isBackground: true,
  });
}

/**
 * Creates the file in a mode in which SQLite can return free pages to the file system. The mode can be set only while
 * the file is empty.
 */
function makeShrinkable(file: string): void {
  const database = openDatabase(file);
  try {
    database.exec("PRAGMA auto_vacuum=INCREMENTAL; VACUUM");
  } finally {
    database.close();
  }
}
