import { t } from "../../labels/translate.ts";
import { isOwn } from "../../lib/own-functions.ts";
import type { FunctionFigures } from "../../lib/use-function-figures.ts";
import { type FunctionItem, prefixOf } from "../../model/functions.ts";
import type { Tone } from "../../ui/badge.tsx";

/** Figures of one function, in the form of `engine::metrics::functions`. */
export interface FunctionStats extends FunctionFigures {
  readonly last_call?: { readonly at_ms: number; readonly status: string } | null;
}

export type Grouping = "prefix" | "worker";

export interface FunctionFilter {
  /** Words to search. `node:NAME` limits the list to functions of workers that are connected to the engine NAME. */
  readonly q: string;
  readonly worker: string | undefined;
  /** True if functions of the engine and its modules are included. */
  readonly system: boolean;
}

/** A row of the list: a group heading or a function. */
export type FunctionRow =
  | { readonly kind: "group"; readonly name: string; readonly count: number; readonly isOpen: boolean }
  | { readonly kind: "function"; readonly item: FunctionItem; readonly group: string };

const NODE_FILTER = "node:";

/** Names of the engines whose workers provide the function. Empty without a cluster. */
export function nodesOf({ workers }: FunctionItem): readonly string[] {
  return [...new Set(workers.flatMap(({ node }) => node ?? []))].sort();
}

/**
 * Returns the functions that match the filter, sorted by id. Words are searched in the id, the description and the
 * names of workers. `modules` has the ids of the workers that are modules.
 */
export function filterFunctions(
  items: readonly FunctionItem[],
  { q, worker, system }: FunctionFilter,
  modules: ReadonlySet<string>,
): readonly FunctionItem[] {
  const all = q.toLowerCase().split(/\s+/).filter(Boolean);
  const words = all.filter((word) => !word.startsWith(NODE_FILTER));
  const nodes = all.filter((word) => word.startsWith(NODE_FILTER)).map((word) => word.slice(NODE_FILTER.length));
  return items
    .filter((item) => {
      if (!system && !isOwn(item, modules)) return false;
      const own = nodesOf(item).map((node) => node.toLowerCase());
      if (!nodes.every((node) => own.includes(node))) return false;
      if (worker !== undefined && !item.workers.some(({ id, name }) => name === worker || id === worker)) return false;
      const text =
        `${item.function_id}\n${item.description ?? ""}\n${item.workers.map(({ name }) => name).join("\n")}`.toLowerCase();
      return words.every((word) => text.includes(word));
    })
    .sort((a, b) => (a.function_id < b.function_id ? -1 : 1));
}

/**
 * Returns the rows with group headings. If functions are grouped by worker, a function is in the groups of all its
 * workers. If a group has only functions that modules provide, it comes after all other groups, because users look for
 * their own functions. `modules` has the ids of the workers that are modules.
 */
export function groupRows(
  items: readonly FunctionItem[],
  by: Grouping,
  closed: ReadonlySet<string>,
  modules: ReadonlySet<string> = new Set(),
): readonly FunctionRow[] {
  const isBuiltIn = (members: readonly FunctionItem[]): number =>
    Number(members.every(({ workers }) => workers.every(({ id }) => modules.has(id))));
  const groups = new Map<string, FunctionItem[]>();
  for (const item of items) {
    const names = by === "prefix" ? [prefixOf(item.function_id)] : [...new Set(item.workers.map(({ name }) => name))];
    for (const name of names) {
      const members = groups.get(name);
      if (members === undefined) groups.set(name, [item]);
      else members.push(item);
    }
  }
  return [...groups]
    .sort(([a, own], [b, other]) => isBuiltIn(own) - isBuiltIn(other) || (a < b ? -1 : 1))
    .flatMap(([name, members]): FunctionRow[] => {
      const isOpen = !closed.has(name);
      return [
        { kind: "group", name, count: members.length, isOpen },
        ...(isOpen ? members.map((item): FunctionRow => ({ kind: "function", item, group: name })) : []),
      ];
    });
}

/** Returns number and types of triggers, for example `2 · cron, http`. */
export function triggerSummary(triggers: FunctionItem["triggers"]): string {
  if (triggers.length === 0) return t`None`;
  return `${triggers.length} · ${[...new Set(triggers.map(({ type }) => type))].sort().join(", ")}`;
}

export const STATUS_TONES: Readonly<Record<string, Tone>> = { available: "ok", busy: "warn", draining: "info" };

export const STATUS_MEANINGS: Readonly<Record<string, string>> = {
  available: t`A worker can accept a call`,
  busy: t`All its workers are at their concurrency limit; calls are rejected until one finishes`,
  draining: t`Its workers are shutting down and accept no new calls`,
};

const STATUS_LABELS: Readonly<Record<string, string>> = {
  available: t`Available`,
  busy: t`Busy`,
  cancelled: t`Cancelled`,
  draining: t`Draining`,
  error: t`Error`,
  ok: t`OK`,
  pending: t`Pending`,
  running: t`Running`,
  timeout: t`Timeout`,
};

/** Returns the text that the page shows for a status, for example `Available` or `OK`. */
export function statusLabel(status: string): string {
  return STATUS_LABELS[status] ?? `${status.slice(0, 1).toUpperCase()}${status.slice(1)}`;
}
