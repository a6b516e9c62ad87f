import { Button } from "../../../ui/button.tsx";
import { statusText } from "../model/list-status-text.ts";
import type { Traces } from "./use-traces.ts";

/** How many rows of how many are here, and how to go on with a search that the engine cut short. */
export function ListStatus({ traces }: { readonly traces: Traces }) {
  return (
    <div className="flex flex-wrap items-center gap-2 border-line border-t px-4 py-1 text-[12px] text-ink-3">
      <p role="status">{statusText({ ...traces, shown: traces.rows.length })}</p>
      {traces.isCutShort && traces.loadMore !== undefined && (
        <Button onClick={traces.loadMore} title="Goes on from where the search stopped">
          Search on
        </Button>
      )}
    </div>
  );
}
