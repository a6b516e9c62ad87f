import type { ReactNode } from "react";
import { rich } from "../../labels/rich.ts";
import { t } from "../../labels/translate.ts";
import { type Graph, type GraphNode, NOW_SECONDS } from "../../model/flow-graph.ts";
import { isCalled, isThing, KIND_NAMES } from "../../model/node-kinds.ts";
import { Button } from "../../ui/button.tsx";
import { HrefLink } from "../../ui/href-link.tsx";
import { countText } from "./model/count-text.ts";
import { type FlowGroup, groupsWith } from "./model/groups.ts";

/** Details of a node, with links to its page and its neighbours. */
export function FlowDetail({
  graph,
  node,
  hops,
  groups,
  isSample,
  onSelect,
  onHops,
  onFlow,
  onCollapse,
  onExpand,
}: {
  readonly graph: Graph;
  readonly groups: readonly FlowGroup[];
  /** Called with the key of a group, like `onExpand`. */
  readonly onCollapse: (key: string) => void;
  readonly onExpand: (key: string) => void;
  readonly isSample: boolean;
  readonly node: GraphNode;
  readonly hops: number | undefined;
  readonly onSelect: (id: string) => void;
  readonly onHops: (hops: number | undefined) => void;
  readonly onFlow: (id: string) => void;
}) {
  const before = graph.edges.filter(({ to }) => to === node.id);
  const after = graph.edges.filter(({ from }) => from === node.id);
  return (
    <div className="flex flex-col gap-4 p-4">
      <dl className="grid grid-cols-[6rem_minmax(0,1fr)] gap-y-1.5">
        <dt className="text-ink-2">{t`Kind`}</dt>
        <dd>{KIND_NAMES[node.kind]}</dd>
        <dt className="text-ink-2">{t`Name`}</dt>
        <dd>
          <HrefLink href={node.href} className="break-all font-mono text-accent underline">
            {node.label}
          </HrefLink>
        </dd>
        {node.expression !== undefined && (
          <>
            <dt className="text-ink-2">{t`Expression`}</dt>
            <dd className="font-mono">{node.expression}</dd>
          </>
        )}
        {isCalled(node) && (
          <>
            <dt className="text-ink-2">{t`Calls`}</dt>
            <dd>
              {t`${node.calls} in the range`}
              {node.errors > 0 && <span className="text-danger">{t`, ${node.errors} failed`}</span>}
              {node.now.calls > 0 && t`; ${node.now.calls} in the last ${NOW_SECONDS} s`}
            </dd>
          </>
        )}
        {node.note !== undefined && (
          <>
            <dt className="text-ink-2">{t`Note`}</dt>
            <dd className={isThing(node) ? "break-words text-ink-2" : "break-words text-danger"}>{node.note}</dd>
          </>
        )}
      </dl>
      <div className="flex flex-wrap items-center gap-2">
        {node.kind === "function" && (
          <HrefLink
            href={`${node.href}?tab=invoke`}
            className="inline-flex h-7 items-center rounded-md border border-line px-2.5 hover:bg-hover"
          >
            {t`Invoke`}
          </HrefLink>
        )}
        {node.members === undefined ? (
          <Button onClick={() => onFlow(node.id)}>{t`Show downstream only`}</Button>
        ) : (
          <Button onClick={() => onExpand(node.id.replace(/^group /, ""))}>{t`Expand the group`}</Button>
        )}
        {groupsWith(groups, node).map(({ key, by, name, count }) => (
          <Button key={key} onClick={() => onCollapse(key)}>
            {t`Collapse ${by} ${name} (${count})`}
          </Button>
        ))}
        <label className="flex items-center gap-1.5 text-ink-2">
          {t`Show neighbours within`}
          <select
            className="h-7 rounded-md border border-line-strong/60 bg-surface px-1.5 text-ink"
            value={hops ?? ""}
            onChange={(event) => onHops(event.target.value === "" ? undefined : Number(event.target.value))}
          >
            <option value="">{t`any distance`}</option>
            <option value="1">{t`1 step`}</option>
            <option value="2">{t`2 steps`}</option>
            <option value="3">{t`3 steps`}</option>
          </select>
        </label>
      </div>
      {node.members !== undefined && (
        <section>
          <h3 className="mb-1 font-medium text-ink-2">{t`Functions and triggers`}</h3>
          <ul className="flex flex-col gap-1">
            {node.members.map(({ id, label, href }) => (
              <li key={id}>
                <HrefLink
                  href={href}
                  className="inline-flex min-h-6 items-center break-all font-mono text-[12px] text-accent underline"
                >
                  {label}
                </HrefLink>
              </li>
            ))}
          </ul>
        </section>
      )}
      <Neighbours title={t`Upstream`} edges={before} idOf={({ from }) => from} {...{ graph, isSample, onSelect }} />
      <Neighbours title={t`Downstream`} edges={after} idOf={({ to }) => to} {...{ graph, isSample, onSelect }} />
    </div>
  );
}

function Neighbours({
  title,
  edges,
  idOf,
  graph,
  isSample,
  onSelect,
}: {
  readonly title: string;
  readonly edges: Graph["edges"];
  readonly idOf: (edge: Graph["edges"][number]) => string;
  readonly graph: Graph;
  readonly isSample: boolean;
  readonly onSelect: (id: string) => void;
}): ReactNode {
  if (edges.length === 0) return null;
  return (
    <section>
      <h3 className="mb-1 font-medium text-ink-2">{title}</h3>
      <ul className="flex flex-col gap-1">
        {edges.map((edge) => {
          const id = idOf(edge);
          const node = graph.nodes.find((each) => each.id === id);
          return (
            <li key={`${edge.kind} ${id}`} className="flex flex-wrap items-baseline gap-x-2">
              <button
                type="button"
                className="min-h-6 break-all text-left font-mono text-[12px] text-accent underline"
                onClick={() => onSelect(id)}
              >
                {node?.label ?? id}
              </button>
              <span className="text-[12px] text-ink-3">
                {edge.kind === "declared"
                  ? rich`${node !== undefined && KIND_NAMES[node.kind]}, declared`
                  : rich`${node !== undefined && KIND_NAMES[node.kind]}, seen ${countText(edge, isSample)}`}
              </span>
            </li>
          );
        })}
      </ul>
    </section>
  );
}
