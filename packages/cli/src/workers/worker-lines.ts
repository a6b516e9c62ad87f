import { parseLogLine, recordText } from "../logs/log-lines.ts";
import { withShortIds } from "../logs/short-ids.ts";
import type { Shell } from "../shell.ts";
import { fitForTerminal } from "../terminal/fit-for-terminal.ts";
import type { WorkerLine } from "./worker-logs.ts";

/** Separators between the name or time and the text. Standard error has another one than standard output. */
export const BAR = "|";
const ERROR_BAR = "!";

/** Returns the worker's name. If the worker has several processes, the number of the process is added. */
export function writerOf({ worker, replica }: WorkerLine): string {
  return replica === null ? worker : `${worker}#${replica}`;
}

/**
 * Formats a line of output: its separator and text, and if the line is a log record, the time and the id of the record.
 * If `quietIds` is true, ids that svc generated are omitted.
 */
export function shownLine(
  line: WorkerLine,
  { paint, quietIds }: { readonly paint: Shell["paint"]; readonly quietIds: boolean },
): { readonly bar: string; readonly time: string; readonly text: string; readonly id?: string | undefined } {
  const { worker, stream, time, text } = line;
  const record = stream === "out" || stream === "err" ? parseLogLine(text) : undefined;
  if (record === undefined) {
    const fit = fitForTerminal(text, { colours: paint.isColorSupported });
    return { bar: stream === "err" ? ERROR_BAR : BAR, time, text: stream === "install" ? paint.dim(fit) : fit };
  }
  // The separator is that of standard output, because a logger writes all levels to standard error and the text shows
  // the level. The worker's name is omitted, because it is already before the line.
  const { worker: named, ...fields } = record.fields;
  const shown = withShortIds(named === worker || named === undefined ? fields : record.fields, { quiet: quietIds });
  return {
    bar: BAR,
    time: new Date(record.time).toISOString(),
    text: recordText({ ...record, fields: shown }, paint),
    id: typeof fields.log_id === "string" ? fields.log_id : undefined,
  };
}
