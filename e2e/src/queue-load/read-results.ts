import type { Worker } from "@svc-runtime/sdk";
import { eventually } from "../support/processes.ts";
import { type DeadLetter, type Final, repetitions } from "./check-history.ts";
import type { History } from "./journal.ts";
import type { JobData } from "./plan.ts";

const QUEUES = ["ordered", "plain"] as const;
const PAGE = 200;

interface Stats {
  readonly waiting: number;
  readonly delayed: number;
  readonly active: number;
}

interface DlqMessage {
  readonly payload: JobData;
  readonly error: string;
}

/** Jobs that have not ended. */
async function leftOver(worker: Worker): Promise<number> {
  let left = 0;
  for (const queue of QUEUES) {
    const { waiting, delayed, active } = await worker.call<Stats>({ function_id: "queue::stats", payload: { queue } });
    left += waiting + delayed + active;
  }
  return left;
}

async function deadLetters(worker: Worker): Promise<DeadLetter[]> {
  const letters: DeadLetter[] = [];
  for (const topic of QUEUES) {
    for (let offset = 0; ; offset += PAGE) {
      const page = await worker.call<DlqMessage[]>({
        function_id: "engine::queue::dlq_messages",
        payload: { topic, offset, limit: PAGE },
      });
      letters.push(...page.map(({ payload, error }) => ({ name: payload.name, error })));
      if (page.length < PAGE) break;
    }
  }
  return letters;
}

/** Returns the contents of the queues when no jobs are left to run, or after a minute. */
export async function settled(worker: Worker): Promise<Final> {
  await eventually("every job is done or dead", async () => (await leftOver(worker)) === 0, 60_000);
  return { waiting: await leftOver(worker), dead: await deadLetters(worker) };
}

/** e.g. `9950 jobs accepted, 50 perhaps (50 disconnected); 12300 attempts, 20 jobs done more than once, 101 dead`. */
export function summaryOf(history: History, final: Final): string {
  const codes = new Map<string, number>();
  for (const code of history.failures.values()) codes.set(code, (codes.get(code) ?? 0) + 1);
  const failed =
    history.failures.size === 0 ? "" : ` (${[...codes].map(([code, count]) => `${count} ${code}`).join(", ")})`;
  const accepted = `${history.acks.size} jobs accepted, ${history.failures.size} perhaps${failed}`;
  return `${accepted}; ${history.starts.length} attempts, ${repetitions(history)} more than were needed, ${final.dead.length} dead`;
}
