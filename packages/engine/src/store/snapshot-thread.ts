import { parentPort, workerData } from "node:worker_threads";
import { openDatabase } from "./driver.ts";
import { keepPrivate } from "./private-file.ts";
import type { SnapshotStart } from "./snapshot.ts";

// A thread with a connection of its own: readers keep nobody waiting, and the store's thread goes on meanwhile.
const { file, draft, driver } = workerData as SnapshotStart;
const database = openDatabase(file, driver);
try {
  database.exec("PRAGMA busy_timeout=5000");
  keepPrivate(draft);
  database.prepare("VACUUM INTO ?").run(draft);
} finally {
  database.close();
}
parentPort?.postMessage("done");
