import type { Log } from "./log.ts";
import { groupSimilar } from "./similar-logs.ts";

/**
 * A time during which the user had paused the live view. It is shown as a row between the entries before and after it.
 */
export interface PauseMark {
  readonly fromMs: number;
  readonly toMs: number;
  readonly received: number;
  readonly lost: number;
}

export type LogRow =
  | { readonly kind: "log"; readonly id: string; readonly log: Log; readonly isMember: boolean }
  | { readonly kind: "group"; readonly id: string; readonly log: Log; readonly count: number; readonly isOpen: boolean }
  | { readonly kind: "pause"; readonly id: string; readonly mark: PauseMark };

/**
 * Returns the rows of the list, the newest first. The rows are entries and pauses, or groups of similar entries. `open`
 * has the ids of the groups that are open.
 */
export function rowsOf(
  logs: readonly Log[],
  options: { readonly grouped: boolean; readonly open: ReadonlySet<string>; readonly marks: readonly PauseMark[] },
): readonly LogRow[] {
  if (options.grouped) return groupedRows(logs, options.open);
  const marks = options.marks.toSorted((a, b) => b.fromMs - a.fromMs);
  const rows: LogRow[] = [];
  let next = 0;
  for (const log of logs) {
    while (marks[next] !== undefined && (marks[next] as PauseMark).fromMs > log.timestamp_ms)
      rows.push(pauseRow(marks[next++] as PauseMark));
    rows.push({ kind: "log", id: log.id, log, isMember: false });
  }
  return rows;
}

function pauseRow(mark: PauseMark): LogRow {
  return { kind: "pause", id: `pause-${mark.fromMs}`, mark };
}

function groupedRows(logs: readonly Log[], open: ReadonlySet<string>): readonly LogRow[] {
  return groupSimilar(logs).flatMap(({ template, logs: members }): LogRow[] => {
    const first = members[0] as Log;
    if (members.length === 1) return [{ kind: "log", id: first.id, log: first, isMember: false }];
    const id = `group-${template}`;
    const isOpen = open.has(id);
    const group: LogRow = { kind: "group", id, log: first, count: members.length, isOpen };
    return isOpen
      ? [group, ...members.map((log): LogRow => ({ kind: "log", id: log.id, log, isMember: true }))]
      : [group];
  });
}

/** Returns the indexes of the rows that contain the text. */
export function findRows(rows: readonly LogRow[], text: string): readonly number[] {
  if (text === "") return [];
  const wanted = text.toLowerCase();
  const found: number[] = [];
  for (const [index, row] of rows.entries())
    if (row.kind !== "pause" && row.log.body.toLowerCase().includes(wanted)) found.push(index);
  return found;
}

/** Splits the text at the matches. Every second part is a match. */
export function markedParts(text: string, wanted: string): readonly string[] {
  if (wanted === "") return [text];
  const parts: string[] = [];
  const lower = text.toLowerCase();
  const search = wanted.toLowerCase();
  // If the text in lower case has another length, positions in it are not positions in the original text.
  if (lower.length !== text.length) return [text];
  let from = 0;
  for (let at = lower.indexOf(search); at >= 0; at = lower.indexOf(search, from)) {
    parts.push(text.slice(from, at), text.slice(at, at + search.length));
    from = at + search.length;
  }
  return [...parts, text.slice(from)];
}
