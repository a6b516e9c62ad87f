import { Handle, type Node, type NodeProps, Position } from "@xyflow/react";
import type { GraphNode } from "../../model/flow-graph.ts";
import { isThing } from "../../model/node-kinds.ts";
import { cn } from "../../ui/cn.ts";
import type { NodeLook } from "./model/node-look.ts";
import { ICONS, TONE_CLASSES, toneOf } from "./node-style.ts";

export type FlowNodeType = Node<
  {
    readonly node: GraphNode;
    readonly look: NodeLook;
    readonly isDim: boolean;
    readonly isFocus: boolean;
    readonly isVertical: boolean;
  },
  "flow"
>;

/** A node with its icon, name and status. */
export function FlowNodeBox({ data: { node, look, isDim, isFocus, isVertical } }: NodeProps<FlowNodeType>) {
  const Icon = ICONS[node.kind];
  const isFailing = node.errors > 0 || (node.note !== undefined && !isThing(node));
  return (
    <div
      title={look.about}
      data-kind={node.kind}
      data-method={node.method}
      className={cn(
        "flex h-full items-center gap-2 rounded-md border bg-surface px-2 text-left transition-opacity",
        isFailing ? "border-danger" : "border-line-strong",
        isFocus && "outline outline-2 outline-accent outline-offset-1",
        isDim && "opacity-25",
      )}
      style={look.color === undefined ? undefined : { borderLeft: `4px solid ${look.color}` }}
    >
      <Handle
        type="target"
        position={isVertical ? Position.Top : Position.Left}
        isConnectable={false}
        className="opacity-0"
      />
      <span
        aria-hidden
        className={cn("flow-icon flex size-7 shrink-0 items-center justify-center rounded", TONE_CLASSES[toneOf(node)])}
      >
        <Icon className="size-4" />
      </span>
      <span className="min-w-0 flex-1">
        <span className={cn("flow-name text-ink", node.expression === undefined && "font-mono")}>{node.label}</span>
        <span className={cn("flow-subtitle block truncate text-[12px]", isFailing ? "text-danger" : "text-ink-3")}>
          {look.subtitle}
        </span>
      </span>
      {node.now.calls > 0 && <Pulse isFailing={node.now.errors > 0} />}
      <Handle
        type="source"
        position={isVertical ? Position.Bottom : Position.Right}
        isConnectable={false}
        className="opacity-0"
      />
    </div>
  );
}

/**
 * Mark of a node that was called in the last seconds. It is only visual, because the subtitle says the same in words.
 */
function Pulse({ isFailing }: { readonly isFailing: boolean }) {
  const tone = isFailing ? "bg-danger" : "bg-ok";
  return (
    <span aria-hidden data-pulse={isFailing ? "failing" : "ok"} className="relative size-2 shrink-0">
      <span className={cn("absolute inset-0 animate-ping rounded-full opacity-60 motion-reduce:hidden", tone)} />
      <span className={cn("absolute inset-0 rounded-full", tone)} />
    </span>
  );
}
