import { rich } from "../../labels/rich.ts";
import { t } from "../../labels/translate.ts";
import { EmptyState } from "../../ui/data-region.tsx";
import type { SavedLayout } from "./layout/use-saved-layout.ts";
import { SaveStatus } from "./save-status.tsx";
import type { FlowData } from "./use-flow-data.ts";

/**
 * Line below the controls. It shows the legend, the number of traces read, sources that failed, and whether the layout
 * is saved.
 */
export function FlowNotes({
  data: { notObserved, observed, missing, retry },
  found,
  layout,
}: {
  readonly data: FlowData;
  readonly found: number | undefined;
  readonly layout: SavedLayout | undefined;
}) {
  return (
    <div className="flex flex-wrap items-center gap-x-4 gap-y-1 border-line border-b px-4 py-1 text-[12px]">
      <span className="flex items-center gap-3 text-ink-2">
        <span className="flex items-center gap-1.5">
          <span aria-hidden className="w-6 border-line-strong border-t-2" /> {t`Declared`}
        </span>
        <span className="flex items-center gap-1.5">
          <span aria-hidden className="w-6 border-line-strong border-t-2 border-dashed" /> {t`Seen in traces`}
        </span>
      </span>
      {notObserved === undefined ? (
        observed !== undefined && (
          <span className="text-ink-3">
            {observed.isSample
              ? t`Edges are sampled: counted in ${observed.read} of ${observed.total} traces, so numbers are lower bounds (≥)`
              : t`Edges are counted in all ${observed.total} traces`}
          </span>
        )
      ) : (
        <span role="alert" className="text-warn">
          {t`Failed to load calls: ${notObserved}.`}{" "}
          <button type="button" className="underline" onClick={retry}>
            {t`Try again`}
          </button>
        </span>
      )}
      {missing.map(({ what, why }) => (
        <span key={what} role="alert" className="text-warn">
          {t`${what} may be incomplete: ${why}.`}{" "}
          <button type="button" className="underline" onClick={retry}>
            {t`Try again`}
          </button>
        </span>
      ))}
      {found !== undefined && <span role="status">{t`${found} found`}</span>}
      <span className="flex-1" />
      {layout !== undefined && <SaveStatus layout={layout} />}
    </div>
  );
}

export function NodeNotFound({ id }: { readonly id: string }) {
  return (
    <EmptyState title={t`Node not found`}>
      {rich`${<code className="break-all">{id}</code>} does not exist now, or the current filters hide it.`}
    </EmptyState>
  );
}
