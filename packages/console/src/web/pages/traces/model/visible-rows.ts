import { endOf, type SpanNode, type TraceForest } from "./span-forest.ts";

export interface SpanFilter {
  readonly text: string;
  readonly errorsOnly: boolean;
  readonly minMs: number | undefined;
  readonly service: string | undefined;
  /** Ids of spans that the engine found by the text, which looks into attributes too. */
  readonly found?: ReadonlySet<string> | undefined;
}

export interface Row {
  readonly node: SpanNode;
  /** It stands here for what is below it, and does not match itself. */
  readonly isContext: boolean;
}

export function isFiltering(filter: SpanFilter): boolean {
  return filter.text !== "" || filter.errorsOnly || filter.minMs !== undefined || filter.service !== undefined;
}

/** Every word of the text has to be in the name, the service, the id or the description; in attributes the engine looks. */
export function matches(node: SpanNode, filter: SpanFilter, nowMs: number): boolean {
  if (node.span === undefined) return false;
  if (filter.errorsOnly && node.status !== "error") return false;
  if (filter.service !== undefined && node.service !== filter.service) return false;
  if (filter.minMs !== undefined && endOf(node, nowMs) - node.startMs < filter.minMs) return false;
  if (filter.text === "") return true;
  if (filter.found?.has(node.id) === true) return true;
  const { status_description = "" } = node.span;
  const hay = `${node.name}\n${node.service}\n${node.id}\n${status_description}`.toLowerCase();
  return filter.text
    .toLowerCase()
    .split(/\s+/)
    .every((word) => hay.includes(word));
}

/** The rows of the waterfall: without what is below closed spans; a filter keeps the ancestors of what matches, and opens them. */
export function visibleRows(forest: TraceForest, closed: ReadonlySet<string>, filter: SpanFilter, nowMs: number): readonly Row[] {
  if (!isFiltering(filter)) return unfiltered(forest, closed);
  const wanted = new Set<SpanNode>();
  const kept = new Set<SpanNode>();
  for (const node of forest.nodes) {
    if (!matches(node, filter, nowMs)) continue;
    wanted.add(node);
    for (let up: SpanNode | undefined = node; up !== undefined && !kept.has(up); up = up.parent) kept.add(up);
  }
  return forest.nodes.filter((node) => kept.has(node)).map((node) => ({ node, isContext: !wanted.has(node) }));
}

function unfiltered(forest: TraceForest, closed: ReadonlySet<string>): readonly Row[] {
  const rows: Row[] = [];
  let hiddenBelow = Number.POSITIVE_INFINITY;
  for (const node of forest.nodes) {
    if (node.depth > hiddenBelow) continue;
    hiddenBelow = closed.has(node.id) ? node.depth : Number.POSITIVE_INFINITY;
    rows.push({ node, isContext: false });
  }
  return rows;
}

/** The ids of those with children at this depth and deeper: closed, they leave the levels above. */
export function closedBelow(forest: TraceForest, depth: number): ReadonlySet<string> {
  return new Set(forest.nodes.filter((node) => node.children.length > 0 && node.depth >= depth).map(({ id }) => id));
}
