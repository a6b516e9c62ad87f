import { parentPort, workerData } from "node:worker_threads";
import { openDatabase } from "./driver.ts";
import type { QueryThreadStart } from "./query-thread.ts";

// The statement runs in a thread of its own, with its own connection, so that neither readers nor the store's thread
// have to wait for it.
const { file, driver, sql, parameters, cancelled } = workerData as QueryThreadStart;
const isCancelled = (): boolean => Atomics.load(new Uint8Array(cancelled), 0) === 1;
if (!isCancelled()) {
  const database = openDatabase(file, driver);
  try {
    database.exec("PRAGMA busy_timeout=5000");
    if (!isCancelled()) parentPort?.postMessage(database.prepare(sql).all(...parameters));
  } finally {
    database.close();
  }
}
