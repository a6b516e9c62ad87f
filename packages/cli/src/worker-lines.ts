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

export function barOf({ stream }: WorkerLine): string {
  return stream === "err" ? ERROR_BAR : BAR;
}

/** What the worker wrote keeps its colours; what its install said is dim. */
export function textOf({ stream, text }: WorkerLine, paint: Shell["paint"]): string {
  const fit = fitForTerminal(text, { colours: paint.isColorSupported });
  return stream === "install" ? paint.dim(fit) : fit;
}
