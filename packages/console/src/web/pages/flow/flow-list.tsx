import { useMemo } from "react";
import { t } from "../../labels/translate.ts";
import type { Graph, GraphNode } from "../../model/flow-graph.ts";
import { isCalled, KIND_NAMES } from "../../model/node-kinds.ts";
import { type Column, DataTable } from "../../ui/data-table.tsx";
import { ICONS } from "./node-style.ts";

/** The graph as a table: each node with its upstream and downstream neighbours. */
export function FlowList({
  graph,
  found,
  selected,
  onSelect,
}: {
  readonly graph: Graph;
  readonly found: ReadonlySet<string> | undefined;
  readonly selected: string | undefined;
  readonly onSelect: (id: string) => void;
}) {
  const columns = useMemo((): readonly Column<GraphNode>[] => {
    const labels = new Map(graph.nodes.map(({ id, label }) => [id, label]));
    const names = (ids: readonly string[]): string =>
      [...new Set(ids)].map((id) => labels.get(id) ?? id).join(", ") || "–";
    return [
      { key: "name", header: t`Name`, width: "minmax(10rem,2fr)", cell: (node) => <NameCell node={node} /> },
      { key: "kind", header: t`Kind`, width: "8rem", cell: ({ kind }) => KIND_NAMES[kind] },
      {
        key: "from",
        header: t`Upstream`,
        width: "minmax(8rem,2fr)",
        from: 900,
        cell: ({ id }) => names(graph.edges.filter(({ to }) => to === id).map(({ from }) => from)),
      },
      {
        key: "to",
        header: t`Downstream`,
        width: "minmax(8rem,2fr)",
        from: 900,
        cell: ({ id }) => names(graph.edges.filter(({ from }) => from === id).map(({ to }) => to)),
      },
      {
        key: "calls",
        header: t`Calls`,
        width: "5rem",
        align: "right",
        cell: (node) => (isCalled(node) ? node.calls.toLocaleString("en-GB") : "–"),
      },
      {
        key: "errors",
        header: t`Failed`,
        width: "5rem",
        align: "right",
        from: 640,
        cell: (node) => (isCalled(node) ? node.errors.toLocaleString("en-GB") : "–"),
      },
    ];
  }, [graph]);
  const rows = found === undefined ? graph.nodes : graph.nodes.filter(({ id }) => found.has(id));
  return (
    <DataTable
      label={t`Flow`}
      columns={columns}
      rows={rows}
      idOf={({ id }) => id}
      selectedId={selected}
      onSelect={({ id }) => onSelect(id)}
    />
  );
}

function NameCell({ node }: { readonly node: GraphNode }) {
  const Icon = ICONS[node.kind];
  return (
    <span className="flex min-w-0 items-center gap-2">
      <Icon aria-hidden className="size-3.5 shrink-0 text-ink-3" />
      <span className="truncate font-mono text-[12px]">{node.label}</span>
    </span>
  );
}
