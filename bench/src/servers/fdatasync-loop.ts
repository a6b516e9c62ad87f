// Measures how many small durable writes per second this machine makes, one after another. Writes into the folder given
// as argument.
import { closeSync, fdatasyncSync, openSync, unlinkSync, writeSync } from "node:fs";
import { join } from "node:path";

/** The request is the duration in milliseconds, the response the syncs per second. */
export interface SyncRate {
  readonly perSecond: number;
}

const RECORD = Buffer.alloc(512, "x");
const WRAP_BYTES = 4 * 1024 * 1024;

const file = join(process.argv[2] ?? ".", `fdatasync-${process.pid}.tmp`);

function measure(durationMs: number): SyncRate {
  const handle = openSync(file, "w");
  // The file is allocated first and then overwritten, so that a sync allocates no blocks. A database reuses its log in
  // the same way.
  writeSync(handle, Buffer.alloc(WRAP_BYTES));
  fdatasyncSync(handle);
  const startMs = performance.now();
  let syncs = 0;
  let elapsedMs = 0;
  while (elapsedMs < durationMs) {
    writeSync(handle, RECORD, 0, RECORD.length, (syncs * RECORD.length) % WRAP_BYTES);
    fdatasyncSync(handle);
    syncs++;
    elapsedMs = performance.now() - startMs;
  }
  closeSync(handle);
  unlinkSync(file);
  return { perSecond: (syncs / elapsedMs) * 1000 };
}

process.on("disconnect", () => process.exit(0));
process.on("message", (durationMs: number) => process.send?.(measure(durationMs)));
process.send?.({ port: 0 });
