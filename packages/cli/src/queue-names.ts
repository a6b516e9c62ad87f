import type { QueueStats } from "@svc-runtime/protocol/listings";
import type { Worker } from "@svc-runtime/sdk";
import { didYouMean } from "./did-you-mean.ts";
import { codeOf } from "./engine-request.ts";
import { CommandFailure } from "./exit-codes.ts";
import type { Shell } from "./shell.ts";
import { table } from "./table.ts";
import { outPaint } from "./terminal-text.ts";

/** Job counts of a queue, as far as commands use them. */
export type QueueCounts = Omit<QueueStats, "bytes" | "added" | "died" | "expired" | "cancelled" | "kept">;

export async function listQueues(engine: Worker): Promise<readonly QueueCounts[]> {
  const { queues } = await engine.call<{ readonly queues: readonly QueueCounts[] }>({
    function_id: "queue::list",
    payload: {},
  });
  return queues;
}

/** Runs an action on one queue. If the queue does not exist, the error suggests the nearest name. */
export async function withQueue<Result>(engine: Worker, queue: string, action: () => Promise<Result>): Promise<Result> {
  try {
    return await action();
  } catch (error) {
    if (codeOf(error) !== "queue_not_found") throw error;
    const known = (await listQueues(engine)).map(({ queue: name }) => name);
    throw new CommandFailure(`There is no queue ${queue}${(await didYouMean(queue, known)) || "."}`, {
      advice: [`Queues: ${known.join(", ")}`],
      cause: error,
    });
  }
}

/** Returns the counts of queues as a table, with the reasons why jobs wait below it. */
export function queueTable(queues: readonly QueueCounts[], shell: Shell): string {
  const paint = outPaint(shell);
  const style = (cell: string, { head }: { readonly head: string }): string =>
    head === "DEAD" && cell.trim() !== "0" ? paint.red(cell) : cell;
  const heads = ["QUEUE", "WAITING", "DELAYED", "RUNNING", "DEAD", "DONE", "KIND"];
  const reasons = queues.flatMap(({ queue, waiting_reasons = [] }) =>
    waiting_reasons.map((reason) => `${paint.yellow("Jobs wait")} in ${queue}: ${reason}\n`),
  );
  const text = table(heads, queues.map(row), { columns: shell.outColumns, whole: ["QUEUE"], style });
  return [text, ...reasons].join("");
}

function row({
  queue,
  waiting,
  delayed,
  active,
  dead,
  done,
  paused,
  type,
  concurrency,
  topic,
}: QueueCounts): readonly string[] {
  const kind = [
    type === null ? "not declared" : `${type}, concurrency ${concurrency ?? "?"}`,
    ...(topic === null ? [] : [`of topic ${topic}`]),
    ...(paused ? ["paused"] : []),
  ];
  return [queue, ...[waiting, delayed, active, dead, done].map(String), kind.join(", ")];
}
