import { parentPort, workerData } from "node:worker_threads";
import type { AsideStart } from "./aside.ts";
import { openDatabase } from "./driver.ts";

// A thread with a connection of its own: readers keep nobody waiting, and the store's thread goes on meanwhile.
const { file, driver, sql, parameters } = workerData as AsideStart;
const database = openDatabase(file, driver);
try {
  database.exec("PRAGMA busy_timeout=5000");
  parentPort?.postMessage(database.prepare(sql).all(...parameters));
} finally {
  database.close();
}
