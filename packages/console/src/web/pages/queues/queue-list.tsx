import { rich } from "../../labels/rich.ts";
import { t } from "../../labels/translate.ts";
import { DataRegion, EmptyState } from "../../ui/data-region.tsx";
import { DataTable } from "../../ui/data-table.tsx";
import { Timestamp } from "../../ui/time.tsx";
import type { Row } from "./model.ts";
import { queueColumns } from "./queue-columns.tsx";
import type { useOverview } from "./use-queues.ts";

/** List of all queues, and of topics with their subscriptions. */
export function QueueList({
  overview,
  rows,
  q,
  onClear,
  selectedId,
  isCompact,
  onOpen,
}: {
  readonly overview: ReturnType<typeof useOverview>;
  readonly rows: readonly Row[];
  readonly q: string;
  readonly onClear: () => void;
  readonly selectedId: string | undefined;
  readonly isCompact: boolean;
  readonly onOpen: (id: string) => void;
}) {
  return (
    <DataRegion
      loading={overview.data === undefined}
      error={overview.error}
      retry={() => void overview.refetch()}
      empty={overview.data !== undefined && rows.length === 0}
      filtered={q === "" ? undefined : { what: t`No queue, topic or subscriber matches “${q}”.`, clear: onClear }}
      emptyState={
        <EmptyState
          title={t`No queues`}
          snippet={"workers:\n  - name: svc-queue\n    config:\n      queue_configs:\n        emails: {}"}
        >
          {t`A queue stores jobs until a function has processed them. Add queues to the config.`}
        </EmptyState>
      }
    >
      <DataTable
        label={t`Queues`}
        columns={queueColumns(isCompact)}
        rows={rows}
        idOf={({ id }) => id}
        selectedId={selectedId}
        onSelect={({ id }) => onOpen(id)}
      />
      <p className="shrink-0 border-line border-t bg-surface px-4 py-1.5 text-[12px] text-ink-2">
        {rich`As of ${overview.dataUpdatedAt === 0 ? "…" : <Timestamp ms={overview.dataUpdatedAt} withMs={false} />}`}
      </p>
    </DataRegion>
  );
}
