import { createLogger, systemClock } from "@svc-runtime/engine/module";
import { openStore } from "@svc-runtime/engine/testing";
import { SecretMask } from "@svc-runtime/protocol";
import { DiskSpanStore } from "../disk/disk-span-store.ts";
import { sampleSpan } from "./sample-spans.ts";

// Writes traces to the file given as argument until it is killed. Sends once how many are on disk.
const log = createLogger({ level: "error", now: Date.now, write: () => {} });
const drops = { dropped: () => {} };
const store = new DiskSpanStore({
  ...{
    file: process.argv[2] ?? "",
    limits: { maxBytes: 1e9, retentionMs: 1e9, keepSlowMs: 1_000 },
    log,
    clock: systemClock,
    drops,
    openStore,
    redactor: () => new SecretMask([]),
  },
});
let id = 0;
setInterval(() => {
  for (let n = 0; n < 20; n += 1) {
    id += 1;
    store.ended(sampleSpan({ trace: id, id }));
  }
}, 5);
setTimeout(() => {
  const written = id;
  store.flush().then(
    () => process.send?.(written),
    (error: unknown) => {
      throw error;
    },
  );
}, 300);
