import { existsSync, mkdirSync, renameSync } from "node:fs";
import { dirname } from "node:path";
import type { Logger } from "../../../../kernel/logger.ts";
import { openDatabase } from "../../../../store/driver.ts";
import { openStore, type Store } from "../../../../store/store.ts";
import type { SpanProcedures } from "./procedures.ts";

/** SQLite keeps its log beside the file. */
const PARTS = ["", "-wal", "-shm"];

interface SpanFile {
  /** Absolute path. */
  readonly file: string;
  readonly log: Logger;
  readonly nowMs: number;
}

/** Opens the file, or a new one when it is damaged: what is lost then is only a history, and the engine is to run. The old one is put aside. */
export async function openSpanFile({ file, log, nowMs }: SpanFile): Promise<Store<SpanProcedures>> {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  try {
    return await open(file, log);
  } catch (error) {
    const aside = `${file}.damaged-${nowMs}`;
    log.error("the file of spans cannot be opened; it is put aside, and a new one begun", { file, aside, error });
    for (const part of PARTS) if (existsSync(file + part)) renameSync(file + part, aside + part);
    return open(file, log);
  }
}

async function open(file: string, log: Logger): Promise<Store<SpanProcedures>> {
  if (!existsSync(file)) makeShrinkable(file);
  return openStore<SpanProcedures>({ file, procedures: new URL("./procedures.js", import.meta.url), log, durability: "relaxed" });
}

/** Makes the file such that room that became free can be given back; that has to be decided before there is anything in it. */
function makeShrinkable(file: string): void {
  const database = openDatabase(file);
  try {
    database.exec("PRAGMA auto_vacuum=INCREMENTAL; VACUUM");
  } finally {
    database.close();
  }
}
