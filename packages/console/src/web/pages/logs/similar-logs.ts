import { plainText } from "./ansi.ts";
import type { Log } from "./log.ts";

const VARIABLE =
  /"(?:[^"\\]|\\.)*"|'[^']*'|\b[0-9a-f]{8}-[0-9a-f-]{27}\b|\b0x[0-9a-f]+\b|\b(?=[0-9a-f]*\d)[0-9a-f]{8,}\b|\b\d[\d.,:_]*(?:ms|s|µs|ns|[kmg]i?b|%)?/gi;
const MAX_LENGTH = 300;
const templates = new WeakMap<Log, string>();

/** Returns a key for grouping. It is equal for entries that differ only in numbers, ids and quoted strings. */
export function templateOf(log: Log): string {
  let template = templates.get(log);
  if (template === undefined) {
    const words = plainText(log.body.slice(0, MAX_LENGTH)).replace(VARIABLE, "…");
    template = `${log.severity_text}\n${log.service_name}\n${words}`;
    templates.set(log, template);
  }
  return template;
}

export interface LogGroup {
  readonly template: string;
  /** The entries of the group, in the order of the input. */
  readonly logs: readonly Log[];
}

/** Groups entries with equal keys. Groups are in the order of their first entries. */
export function groupSimilar(logs: readonly Log[]): readonly LogGroup[] {
  const groups = new Map<string, Log[]>();
  for (const log of logs) {
    const template = templateOf(log);
    const group = groups.get(template);
    if (group === undefined) groups.set(template, [log]);
    else group.push(log);
  }
  return [...groups].map(([template, members]) => ({ template, logs: members }));
}
