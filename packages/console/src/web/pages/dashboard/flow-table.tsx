import { t } from "../../labels/translate.ts";
import { atLeast } from "../../lib/at-least.ts";
import type { Graph } from "../../model/flow-graph.ts";
import { cn } from "../../ui/cn.ts";
import { HrefLink } from "../../ui/href-link.tsx";

/**
 * The call graph as a table. It has a row for each edge, then one for each node without edges. `isPart` means that only
 * some traces were read, so that counts are lower bounds.
 */
export function FlowTable({ flow, isPart }: { readonly flow: Graph; readonly isPart: boolean }) {
  const nodes = new Map(flow.nodes.map((node) => [node.id, node]));
  const connected = new Set(flow.edges.flatMap(({ from, to }) => [from, to]));
  const alone = flow.nodes.filter(({ id }) => !connected.has(id));
  const cell = (id: string) => {
    const node = nodes.get(id);
    if (node === undefined) return null;
    return (
      <HrefLink href={node.href} className="wrap-anywhere text-accent hover:underline">
        {node.label}
      </HrefLink>
    );
  };
  return (
    <div className="overflow-x-auto">
      <table className="w-full">
        <caption className="sr-only">{t`Call graph`}</caption>
        <thead className="text-[12px] text-ink-3">
          <tr className="border-line border-b">
            {[t`From`, t`To`, t`Via`, t`Calls`, t`Failed`].map((name, at) => (
              <th
                key={name}
                scope="col"
                className={cn(
                  "py-1 font-medium",
                  at > 2 ? "w-12 text-right sm:w-20" : "pr-3 text-left",
                  at === 2 && "hidden sm:table-cell",
                )}
              >
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {flow.edges.map(({ from, to, kind, calls, errors }) => (
            <tr key={`${from}>${to}`} className="border-line/60 border-b">
              <td className="py-1 pr-3">{cell(from)}</td>
              <td className="py-1 pr-3">{cell(to)}</td>
              <td className="hidden py-1 pr-3 text-ink-2 sm:table-cell">
                {kind === "declared" ? t`${nodes.get(from)?.triggerType ?? ""} trigger` : t`seen in traces`}
              </td>
              <td className="text-right font-mono text-[12px]">{kind === "declared" ? "–" : atLeast(calls, isPart)}</td>
              <td
                className={
                  errors > 0 ? "text-right font-mono text-[12px] text-danger" : "text-right font-mono text-[12px]"
                }
              >
                {kind === "declared" ? "–" : atLeast(errors, isPart)}
              </td>
            </tr>
          ))}
          {alone.map(({ id }) => (
            <tr key={id} className="border-line/60 border-b">
              <td className="py-1 pr-3">{cell(id)}</td>
              <td colSpan={4} className="text-ink-3">
                {t`no calls seen`}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
