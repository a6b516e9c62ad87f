import { endOf, type SpanNode, type TraceForest } from "../../../model/span-forest.ts";

export interface SpanFilter {
  readonly text: string;
  readonly errorsOnly: boolean;
  readonly minMs: number | undefined;
  readonly service: string | undefined;
  /** Ids of the spans that the engine found by `text`. The engine also searches attributes. */
  readonly found?: ReadonlySet<string> | undefined;
}

export interface Row {
  readonly node: SpanNode;
  /** True if the span itself does not match. It is shown because a span below it matches. */
  readonly isContext: boolean;
}

export function isFiltering(filter: SpanFilter): boolean {
  return filter.text !== "" || filter.errorsOnly || filter.minMs !== undefined || filter.service !== undefined;
}

/**
 * Returns true if the span matches the filter. Each word must occur in the name, service, id or status description.
 * Attributes are searched by the engine.
 */
function matches(node: SpanNode, filter: SpanFilter, nowMs: number): boolean {
  if (node.span === undefined) return false;
  if (filter.errorsOnly && node.status !== "error") return false;
  if (filter.service !== undefined && node.service !== filter.service) return false;
  if (filter.minMs !== undefined && endOf(node, nowMs) - node.startMs < filter.minMs) return false;
  if (filter.text === "") return true;
  if (filter.found?.has(node.id) === true) return true;
  const { status_description = "" } = node.span;
  const haystack = `${node.name}\n${node.service}\n${node.id}\n${status_description}`.toLowerCase();
  return filter.text
    .toLowerCase()
    .split(/\s+/)
    .every((word) => haystack.includes(word));
}

/**
 * Returns the rows of the waterfall. Spans below closed spans are left out. With a filter, the ancestors of matching
 * spans are included, and `closed` is ignored.
 */
export function visibleRows(
  forest: TraceForest,
  closed: ReadonlySet<string>,
  filter: SpanFilter,
  nowMs: number,
): readonly Row[] {
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

/**
 * Returns the ids of the spans at this depth or deeper that have children. If these are closed, only the levels above
 * are visible.
 */
export function closedBelow(forest: TraceForest, depth: number): ReadonlySet<string> {
  return new Set(forest.nodes.filter((node) => node.children.length > 0 && node.depth >= depth).map(({ id }) => id));
}
