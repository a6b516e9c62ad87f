// A worker of the load: writes items of scope "load", watches those of its own prefix, and records in a journal what
// was acknowledged and which events it received. Started by load.ts as its own process. `writer.py` does the same.
import { appendFileSync } from "node:fs";
import { type CallError, connect } from "@svc-runtime/sdk";
import { operation } from "./plan.ts";

const number = Number(process.env.LOAD_WORKER);
const seed = Number(process.env.LOAD_SEED);
const operations = Number(process.env.LOAD_OPERATIONS);
const inFlight = Number(process.env.LOAD_IN_FLIGHT);
const journal = process.env.LOAD_JOURNAL ?? "";

const note = (line: unknown): void => appendFileSync(journal, `${JSON.stringify(line)}\n`);

const worker = connect(process.env.SVC_URL ?? "", {
  name: `writer-${number}`,
  reconnect: { initialDelayMs: 100, maxDelayMs: 500 },
});

interface Event {
  readonly event_type: string;
  readonly key: string;
  readonly version: number;
  readonly old_value: unknown;
  readonly new_value: unknown;
}

worker.registerFunction(`load::told-${number}`, (event: Event) => {
  note({
    event: {
      type: event.event_type,
      key: event.key,
      version: event.version,
      old: event.old_value,
      value: event.new_value,
    },
  });
  return null;
});
worker.registerTrigger({
  type: "state",
  function_id: `load::told-${number}`,
  config: { scope: "load", prefix: `k${number}/` },
});

let next = 0;
let done = 0;

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

function write(
  functionId: string,
  payload: unknown,
): Promise<{ readonly new_value: unknown; readonly version: number }> {
  return worker.call({ function_id: functionId, payload, timeoutMs: 20_000 });
}

async function lane(): Promise<void> {
  while (next < operations) {
    const mine = next++;
    const { key, kind } = operation(seed, number, mine);
    const by = `${number}/${mine}`;
    const payload =
      kind === "set"
        ? { scope: "load", key, value: { by } }
        : {
            scope: "load",
            key,
            ops: [
              { type: "increment", path: "count", by: 1 },
              { type: "set", path: "by", value: by },
            ],
          };
    try {
      const written = await write(`state::${kind}`, payload);
      note({ ack: { key, version: written.version, value: written.new_value } });
    } catch (error) {
      const { code } = error as CallError;
      note({ failed: { key, by, code } });
      // An immediate retry would not help a full disk.
      if (code === "storage_failed") await pause(200);
    }
    done += 1;
    if (done % 10 === 0) process.stdout.write(`done ${done}\n`);
  }
}

await worker.connected();
process.stdout.write("ready\n");
process.stdin.once("data", () => {
  void Promise.all(Array.from({ length: inFlight }, lane)).then(() => process.stdout.write("finished\n"));
});
