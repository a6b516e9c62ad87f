import { t } from "../../labels/translate.ts";
import type { SeenCalls } from "./use-seen-calls.ts";

export interface NoteSources {
  readonly isTable: boolean;
  readonly seen: Pick<SeenCalls, "read" | "total" | "isPart"> | undefined;
  readonly error: Error | null;
}

/** Returns a note that explains the lines of the diagram, or the figures of the table. */
export function flowNote({ isTable, seen, error }: NoteSources): string {
  const of = seen === undefined ? t`traces` : t`${seen.read} of the ${seen.total} traces of the range`;
  const failure = seen === undefined && error !== null ? t`Failed to load calls: ${error.message}.` : undefined;
  if (!isTable) {
    return t`Solid lines are triggers. ${failure ?? t`Dashed lines are calls seen in ${of}; red lines had errors.`}`;
  }
  if (failure !== undefined) return failure;
  if (seen?.isPart !== true) return t`Calls and failures are counted in ${of}.`;
  return t`Calls and failures are counted in only ${of}, so the numbers are lower bounds (≥).`;
}
