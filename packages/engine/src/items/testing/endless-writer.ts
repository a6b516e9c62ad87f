import { once } from "node:events";
import { systemClock } from "../../kernel/clock.ts";
import { silentLogger } from "../../kernel/logger.ts";
import { openFileItems } from "../adapters/file.ts";

// A process of its own for the crash tests: sets items in the folder named by its argument until it is killed, and prints `KEY VERSION` for each one acknowledged.
const WRITERS = 50;

process.stdout.setMaxListeners(WRITERS);
const dataDir = process.argv[2];
if (dataDir === undefined) throw new Error("name the data folder as the first argument");
const state = await openFileItems({ dataDir, filePath: "state.db", cacheBytes: 1_000_000, log: silentLogger, clock: systemClock });

async function writeForEver(key: string): Promise<never> {
  for (let round = 1; ; round++) {
    const json = JSON.stringify({ key, round });
    const outcome = await state.set(
      "crash",
      key,
      { json, bytes: Buffer.byteLength(json), expiresAt: undefined },
      { now: systemClock.now(), ifVersion: undefined, notice: undefined },
    );
    if (outcome.status === "conflict") throw new Error("a set without if_version found a conflict");
    // Printed after the acknowledgement; a line that is lost with the process is one piece of evidence less.
    if (!process.stdout.write(`${key} ${outcome.item?.version}\n`)) await once(process.stdout, "drain");
  }
}

await Promise.all(Array.from({ length: WRITERS }, (_, index) => writeForEver(`key-${index}`)));
