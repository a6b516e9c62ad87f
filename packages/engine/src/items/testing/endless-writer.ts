import { once } from "node:events";
import { systemClock } from "../../kernel/clock.ts";
import { silentLogger } from "../../kernel/logger.ts";
import { openStore } from "../../store/open-store.ts";
import { openFileItems } from "../adapters/file.ts";
import type { ChangeKind } from "../outbox.ts";

// Process for the crash tests. Writes items to the folder in its first argument until it is killed; half of the writers
// use set, half update. Prints `KEY VERSION SEQ` for each acknowledged write. The second argument is the durability.
const WRITERS = 50;

process.stdout.setMaxListeners(WRITERS);
const [dataDir, durability] = process.argv.slice(2);
if (dataDir === undefined) throw new Error("name the data folder as the first argument");
const items = await openFileItems({
  dataDir,
  filePath: "state.db",
  cacheBytes: 1_000_000,
  durability: durability === "relaxed" ? "relaxed" : "durable",
  log: silentLogger,
  clock: systemClock,
  openStore,
});
const kinds: ReadonlySet<ChangeKind> = new Set(["created", "updated", "deleted"]);
const notice = { watchers: [{ id: "watcher", kinds }], origin: "" };

async function writeForEver(key: string, byUpdate: boolean): Promise<never> {
  for (let round = 1; ; round++) {
    const json = JSON.stringify({ round });
    const write = { now: systemClock.now(), ifVersion: undefined, notice };
    const outcome = byUpdate
      ? await items.update(
          "crash",
          key,
          { ops: [{ type: "increment", path: "round", by: 1 }], atomic: true, maxBytes: 1_000, expiresAt: "keep" },
          write,
        )
      : await items.set("crash", key, { json, bytes: json.length, expiresAt: undefined }, write);
    if (outcome.status === "conflict") throw new Error("a write without if_version found a conflict");
    // Printed after the acknowledgement. A line that is lost with the process only means one check less.
    if (!process.stdout.write(`${key} ${outcome.item?.version} ${outcome.changes[0]?.seq}\n`))
      await once(process.stdout, "drain");
  }
}

await Promise.all(Array.from({ length: WRITERS }, (_, index) => writeForEver(`key-${index}`, index % 2 === 0)));
