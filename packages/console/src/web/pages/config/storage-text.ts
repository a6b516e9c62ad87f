import type { QueueStats } from "@svc-runtime/protocol/listings";
import type { GroupPage } from "../../model/state-groups.ts";

export interface Usage {
  readonly text: string;
  readonly bytes: number;
}

/** Returns, for example, `3 items in 1 scope`. */
export function stateUsage({ items: groups, total }: Pick<GroupPage, "items" | "total">): Usage {
  const items = groups.reduce((sum, group) => sum + group.items, 0);
  const summed = total > groups.length ? `the first ${number(groups.length)} of ` : "";
  return {
    text: `${counted(items, "item")} in ${summed}${counted(total, "scope")}`,
    bytes: groups.reduce((sum, group) => sum + group.bytes, 0),
  };
}

/** Returns, for example, `2 pending jobs, 1 dead letter`. */
export function queueUsage(queues: readonly Pick<QueueStats, "waiting" | "delayed" | "dead" | "bytes">[]): Usage {
  const sum = (of: "waiting" | "delayed" | "dead" | "bytes"): number =>
    queues.reduce((total, queue) => total + queue[of], 0);
  return {
    text: `${counted(sum("waiting") + sum("delayed"), "pending job")}, ${counted(sum("dead"), "dead letter")}`,
    bytes: sum("bytes"),
  };
}

function counted(count: number, one: string): string {
  return `${number(count)} ${count === 1 ? one : `${one}s`}`;
}

function number(count: number): string {
  return count.toLocaleString("en-GB");
}
