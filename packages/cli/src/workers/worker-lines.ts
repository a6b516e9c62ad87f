import { parseLogLine, recordText } from "../logs/log-lines.ts";
import { withShortIds } from "../logs/short-ids.ts";
import type { Shell } from "../shell.ts";
import { fitForTerminal } from "../terminal/fit-for-terminal.ts";
import type { WorkerLine } from "./worker-logs.ts";

/** Separators after a name or a time. Standard error has its own. */
export const BAR = "|";
const ERROR_BAR = "!";

/** Returns the worker's name, with the process number if it has several. */
export function writerOf({ worker, replica }: WorkerLine): string {
  return replica === null ? worker : `${worker}#${replica}`;
}

/**
 * Formats a line of output: separator, text, and if the line is a log record the record's time and id. `quietIds`: without
 * ids that svc made.
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
  // A logger writes all levels to standard error and the text shows the level. The worker's name is already before the
  // line.
  const { worker: named, ...fields } = record.fields;
  const shown = withShortIds(named === worker || named === undefined ? fields : record.fields, { quiet: quietIds });
  return {
    bar: BAR,
    time: new Date(record.time).toISOString(),
    text: recordText({ ...record, fields: shown }, paint),
    id: typeof fields.log_id === "string" ? fields.log_id : undefined,
  };
}
