import { Clock, CodeXml, Database, Globe, ListOrdered, type LucideIcon, Radio, Zap } from "lucide-react";
import { useRef, useState } from "react";
import { t } from "../../labels/translate.ts";
import type { GraphEdge } from "../../model/flow-graph.ts";
import { cn } from "../../ui/cn.ts";
import { HrefLink } from "../../ui/href-link.tsx";
import { useWidth } from "../../ui/use-width.ts";
import { layoutOf, NODE_HEIGHT, pathOf } from "./flow-layout.ts";
import type { Overview } from "./flow-overview.ts";

const ICONS: Readonly<Record<string, LucideIcon>> = {
  http: Globe,
  cron: Clock,
  queue: ListOrdered,
  event: Zap,
  subscribe: Zap,
  topic: Zap,
  state: Database,
  stream: Radio,
  function: CodeXml,
};
export const COLUMNS = [
  { title: t`Triggers`, href: "/triggers" },
  { title: t`Functions`, href: "/functions" },
  { title: t`Used by functions`, href: undefined },
] as const;

/**
 * Diagram of triggers, functions, and the resources that functions use. `FlowTable` shows the same data in an
 * accessible form.
 */
export function FlowDiagram({ flow }: { readonly flow: Overview }) {
  const container = useRef<HTMLDivElement>(null);
  const width = useWidth(container);
  const [focus, setFocus] = useState<string>();
  const { boxes, columns, height } = layoutOf(flow, width);
  const max = Math.max(1, ...flow.edges.map(({ calls }) => calls));
  const isOf = ({ from, to }: GraphEdge): boolean => focus === undefined || from === focus || to === focus;
  return (
    <div ref={container} className="relative min-h-40" style={{ height }}>
      {width > 0 && (
        <>
          <svg aria-hidden className="absolute inset-0 size-full overflow-visible">
            <title>{t`Call graph`}</title>
            {flow.edges.map((edge) => (
              <path
                key={`${edge.from}>${edge.to}`}
                d={pathOf(edge, boxes)}
                fill="none"
                stroke="currentColor"
                strokeWidth={edge.kind === "declared" ? 1.25 : 1.25 + 1.75 * Math.sqrt(edge.calls / max)}
                strokeDasharray={edge.kind === "declared" ? undefined : "5 4"}
                className={cn(
                  edge.errors > 0 ? "text-danger" : "text-line-strong/80",
                  isOf(edge) ? "opacity-100" : "opacity-15",
                )}
              />
            ))}
          </svg>
          {columns.map((column, at) => (
            <ColumnHead key={COLUMNS[at]?.title} at={at} x={column.x} width={column.width} more={flow.more[at] ?? 0} />
          ))}
          {flow.nodes.map((node) => {
            const box = boxes.get(node.id);
            const Icon = ICONS[node.triggerType ?? node.kind] ?? Zap;
            return (
              <HrefLink
                key={node.id}
                href={node.href}
                onMouseEnter={() => setFocus(node.id)}
                onMouseLeave={() => setFocus(undefined)}
                onFocus={() => setFocus(node.id)}
                onBlur={() => setFocus(undefined)}
                title={[node.label, node.expression, node.note].filter(Boolean).join(": ")}
                className={cn(
                  "absolute flex items-center gap-2 rounded-md border bg-surface px-2 hover:border-accent",
                  node.errors > 0 ? "border-danger/60" : "border-line",
                )}
                style={{ left: box?.x, top: box?.y, width: box?.width, height: NODE_HEIGHT }}
              >
                <Icon aria-hidden className={cn("size-3.5 shrink-0", node.errors > 0 ? "text-danger" : "text-ink-3")} />
                <span
                  className={cn("min-w-0 flex-1 truncate text-[12px]", node.expression === undefined && "font-mono")}
                >
                  {node.label}
                </span>
                {node.note !== undefined && (
                  <span
                    className={cn(
                      "hidden shrink-0 text-[11px] lg:inline",
                      node.errors > 0 ? "text-danger" : "text-ink-3",
                    )}
                  >
                    {node.note}
                  </span>
                )}
              </HrefLink>
            );
          })}
        </>
      )}
    </div>
  );
}

function ColumnHead({
  at,
  x,
  width,
  more,
}: {
  readonly at: number;
  readonly x: number;
  readonly width: number;
  readonly more: number;
}) {
  const column = COLUMNS[at];
  return (
    <div
      className="absolute top-0 flex items-baseline justify-between gap-2 text-[12px] text-ink-3"
      style={{ left: x, width }}
    >
      <span>{column?.title}</span>
      {more > 0 && column?.href !== undefined && (
        <HrefLink href={column.href} className="text-accent underline">
          {t`${more} more`}
        </HrefLink>
      )}
    </div>
  );
}
