// A worker of the load: adds jobs to two queues, runs jobs of all workers, and records in a journal what was
// acknowledged and what it ran. Started by load.ts as its own process, and again after it was killed: then it continues
// after the end of its journal. `worker.py` does the same.
import { appendFileSync, readFileSync } from "node:fs";
import { type CallError, connect } from "@svc-runtime/sdk";
import { FUNCTION_ID, type JobData, jobOf, jobsOfLane, LANES, ORDERED_LANES, poisonText } from "./plan.ts";

const number = Number(process.env.LOAD_WORKER);
const seed = Number(process.env.LOAD_SEED);
const ofLane = jobsOfLane(Number(process.env.LOAD_OPERATIONS));
const journal = process.env.LOAD_JOURNAL ?? "";

const note = (line: unknown): void => appendFileSync(journal, `${JSON.stringify(line)}\n`);
/** One clock for all processes of the machine. */
const now = (): number => Number(process.hrtime.bigint() / 1_000n);
const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

const begun: number[] = Array.from({ length: LANES }, () => 0);
for (const line of readFileSync(journal, "utf8").split("\n")) {
  if (!line.startsWith(`{"begun"`)) continue;
  const { lane, order } = (JSON.parse(line) as { readonly begun: { readonly lane: number; readonly order: number } })
    .begun;
  begun[lane] = order + 1;
}

const worker = connect(process.env.SVC_URL ?? "", {
  name: `runner-${number}`,
  reconnect: { initialDelayMs: 100, maxDelayMs: 500 },
});

worker.registerFunction(FUNCTION_ID, async (job: JobData, context) => {
  const attempt = context.job?.attempt ?? 0;
  note({ start: { ...job, attempt, at: now() } });
  // Long enough that some jobs are in flight when something is killed.
  await pause((job.order % 4) * 2);
  const fails = job.kind === "poison" || (job.kind === "flaky" && attempt === 1);
  note({ end: { name: job.name, attempt, ok: !fails, at: now() } });
  if (fails) throw new Error(poisonText(job.name));
  return null;
});

let done = begun.reduce((sum, count) => sum + count, 0);

async function enqueue(queue: string, payload: JobData): Promise<void> {
  await worker.enqueue({ queue, function_id: FUNCTION_ID, payload, timeoutMs: 20_000 });
}

async function lane(own: number): Promise<void> {
  for (let order = begun[own] ?? 0; order < ofLane; order++) {
    const job = jobOf(seed, number, own, order);
    note({ begun: { lane: own, order } });
    try {
      await enqueue(own < ORDERED_LANES ? "ordered" : "plain", job);
      note({ ack: { name: job.name } });
    } catch (error) {
      note({ failed: { name: job.name, code: (error as CallError).code } });
    }
    done += 1;
    if (done % 10 === 0) process.stdout.write(`done ${done}\n`);
  }
}

await worker.connected();
process.stdout.write("ready\n");
process.stdin.once("data", () => {
  void Promise.all(Array.from({ length: LANES }, (_, own) => lane(own))).then(() =>
    process.stdout.write(`done ${done}\nfinished\n`),
  );
});
