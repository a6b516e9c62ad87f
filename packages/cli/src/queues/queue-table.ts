import type { Shell } from "../shell.ts";
import { outPaint } from "../terminal/colors.ts";
import { table } from "../terminal/table.ts";
import type { QueueCounts } from "./queues.ts";

/** Returns the job counts of queues as a table. The reasons why jobs wait are below it. */
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
