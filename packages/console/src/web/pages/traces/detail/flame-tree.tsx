import { type KeyboardEvent, useId } from "react";
import { t } from "../../../labels/translate.ts";
import type { SpanNode, TraceForest } from "../../../model/span-forest.ts";

/** Maximum number of ancestors, of children, and of siblings on each side of the active span that the tree contains. */
const AROUND = 15;

/**
 * Copy of the flame graph for screen readers, which cannot read a canvas. It contains the active span with its
 * ancestors, siblings and children.
 */
export function FlameTree({
  forest,
  active,
  describe,
  onKeyDown,
}: {
  readonly forest: TraceForest;
  readonly active: SpanNode | undefined;
  readonly describe: (node: SpanNode) => string;
  readonly onKeyDown: (event: KeyboardEvent) => void;
}) {
  const prefix = useId();
  const shown = active === undefined ? [] : neighboursOf(active, forest);
  return (
    <div
      role="tree"
      aria-label={t`Flame graph of the spans`}
      aria-activedescendant={active === undefined ? undefined : `${prefix}${active.id}`}
      tabIndex={0}
      onKeyDown={onKeyDown}
      className="pointer-events-none absolute inset-0 outline-offset-[-2px]"
    >
      {shown.map(({ node, position, count }) => (
        // biome-ignore lint/a11y/useFocusableInteractive: the tree has the focus
        <div
          key={node.id}
          id={`${prefix}${node.id}`}
          role="treeitem"
          aria-level={node.depth + 1}
          aria-posinset={position}
          aria-setsize={count}
          aria-expanded={node.children.length > 0 ? true : undefined}
          aria-selected={node === active}
          className="sr-only"
        >
          {describe(node)}
        </div>
      ))}
    </div>
  );
}

function neighboursOf(active: SpanNode, forest: TraceForest) {
  const listed: { node: SpanNode; position: number; count: number }[] = [];
  const ancestors: SpanNode[] = [];
  for (let up = active.parent; up !== undefined; up = up.parent) ancestors.unshift(up);
  const add = (node: SpanNode): void => {
    const siblings = node.parent?.children ?? forest.roots;
    listed.push({ node, position: siblings.indexOf(node) + 1, count: siblings.length });
  };
  for (const node of ancestors.slice(-AROUND)) add(node);
  const siblings = active.parent?.children ?? forest.roots;
  const at = siblings.indexOf(active);
  for (const node of siblings.slice(Math.max(0, at - AROUND), at + AROUND + 1)) {
    add(node);
    if (node === active) for (const child of node.children.slice(0, AROUND)) add(child);
  }
  return listed;
}
