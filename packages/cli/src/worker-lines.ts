import { parseLogLine, recordText } from "./log-lines.ts";
import type { Shell } from "./shell.ts";
import { fitForTerminal } from "./terminal-text.ts";
import type { WorkerLine } from "./worker-logs.ts";

/** Bars behind a name or a time: what a process wrote to its standard error has another one. */
export const BAR = "|";
const ERROR_BAR = "!";

/** With its number where the worker has several processes. */
export function writerOf({ worker, replica }: WorkerLine): string {
  return replica === null ? worker : `${worker}#${replica}`;
}

/** A line for people: bar and text, and the time of the record where the text is one of a logger. */
export function shownLine(line: WorkerLine, paint: Shell["paint"]): { readonly bar: string; readonly time: string; readonly text: string } {
  const { worker, stream, time, text } = line;
  const record = stream === "out" || stream === "err" ? parseLogLine(text) : undefined;
  if (record === undefined) {
    const fit = fitForTerminal(text, { colours: paint.isColorSupported });
    return { bar: stream === "err" ? ERROR_BAR : BAR, time, text: stream === "install" ? paint.dim(fit) : fit };
  }
  // Loggers write to standard error whatever the level, which the text tells; and the name stands before it.
  const { worker: named, ...fields } = record.fields;
  const shown = named === worker || named === undefined ? fields : record.fields;
  return { bar: BAR, time: new Date(record.time).toISOString(), text: recordText({ ...record, fields: shown }, paint) };
}
