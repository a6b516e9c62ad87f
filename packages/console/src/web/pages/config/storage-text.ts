import type { QueueStats } from "@svc-runtime/protocol/listings";
import { plural, t } from "../../labels/translate.ts";
import type { GroupPage } from "../../model/state-groups.ts";

export interface Usage {
  readonly text: string;
  readonly bytes: number;
}

/** Describes the stored state, for example `3 items in 1 scope`. */
export function stateUsage({ items: groups, total }: Pick<GroupPage, "items" | "total">): Usage {
  const items = groups.reduce((sum, group) => sum + group.items, 0);
  const scopes = plural(total, "# scope", "# scopes");
  const summed = total > groups.length ? t`the first ${groups.length} of ${scopes}` : scopes;
  return {
    text: t`${plural(items, "# item", "# items")} in ${summed}`,
    bytes: groups.reduce((sum, group) => sum + group.bytes, 0),
  };
}

/** Describes the stored jobs, for example `2 pending jobs, 1 dead letter`. */
export function queueUsage(queues: readonly Pick<QueueStats, "waiting" | "delayed" | "dead" | "bytes">[]): Usage {
  const sum = (of: "waiting" | "delayed" | "dead" | "bytes"): number =>
    queues.reduce((total, queue) => total + queue[of], 0);
  return {
    text: `${plural(sum("waiting") + sum("delayed"), "# pending job", "# pending jobs")}, ${plural(sum("dead"), "# dead letter", "# dead letters")}`,
    bytes: sum("bytes"),
  };
}
