import type { SeenCalls } from "./use-seen-calls.ts";

export interface NoteSources {
  readonly isTable: boolean;
  readonly seen: Pick<SeenCalls, "read" | "total" | "isPart"> | undefined;
  readonly error: Error | null;
}

/** What the flow's lines mean, and what its figures count: not all that was called, where only some traces were read. */
export function flowNote({ isTable, seen, error }: NoteSources): string {
  const of = seen === undefined ? "traces" : `${seen.read} of the ${seen.total.toLocaleString("en-GB")} traces of the range`;
  const unknown = seen === undefined && error !== null ? error.message : undefined;
  if (!isTable) {
    return `Solid lines are triggers. Dashed ones are calls${unknown === undefined ? ` seen in ${of}` : `, which are not known: ${unknown}`}; red ones had errors.`;
  }
  if (unknown !== undefined) return `Calls are not known: ${unknown}.`;
  if (seen?.isPart !== true) return `Calls, and those of them that failed, are counted in ${of}.`;
  return `Calls, and those of them that failed, are counted in ${of} only: there were at least (≥) so many.`;
}

/** `≥14` where not everything was looked at. */
export function atLeast(count: number, isPart: boolean): string {
  return `${isPart ? "≥" : ""}${count.toLocaleString("en-GB")}`;
}
