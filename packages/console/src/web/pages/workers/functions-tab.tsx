import { Link } from "@tanstack/react-router";
import { t } from "../../labels/translate.ts";
import { duration } from "../../lib/time.ts";
import { useFunctionFigures } from "../../lib/use-function-figures.ts";
import type { Worker } from "../../lib/worker-history.ts";
import { EmptyState } from "../../ui/data-region.tsx";

/**
 * Functions of a worker, with statistics of calls in the last 15 min. The statistics cover all workers that provide the
 * function.
 */
export function FunctionsTab({ worker }: { readonly worker: Worker }) {
  const { data, error } = useFunctionFigures(900);
  if (worker.functions.length === 0) return <EmptyState title={t`No functions registered`} />;
  const byId = new Map(data?.functions.map((each) => [each.function_id, each]));
  return (
    <div className="overflow-x-auto p-4">
      <table className="w-full">
        <caption className="pb-2 text-left text-ink-3">
          {error === null
            ? t`Calls of the last 15 minutes, of all workers that provide the function`
            : t`Call statistics are unavailable: ${error.message}`}
        </caption>
        <thead className="text-[12px] text-ink-3">
          <tr className="border-line border-b">
            <th scope="col" className="py-1 text-left font-medium">
              {t`Function`}
            </th>
            {[t`Calls`, t`Errors`, "p95"].map((name) => (
              <th key={name} scope="col" className="w-20 py-1 text-right font-medium">
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {[...worker.functions].sort().map((id) => {
            const figures = byId.get(id);
            return (
              <tr key={id} className="border-line/60 border-b">
                <td className="break-all py-1">
                  <Link
                    to="/functions/{-$functionId}"
                    params={{ functionId: id }}
                    className="text-accent hover:underline"
                  >
                    {id}
                  </Link>
                </td>
                <td className="text-right font-mono text-[12px]">{data === undefined ? "–" : (figures?.calls ?? 0)}</td>
                <td
                  className={`text-right font-mono text-[12px] ${figures !== undefined && figures.errors > 0 ? "text-danger" : ""}`}
                >
                  {data === undefined ? "–" : (figures?.errors ?? 0)}
                </td>
                <td className="text-right font-mono text-[12px]">
                  {figures?.p95_ms == null ? "–" : duration(figures.p95_ms)}
                </td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </div>
  );
}
