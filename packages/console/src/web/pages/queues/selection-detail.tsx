import { rich } from "../../labels/rich.ts";
import { t } from "../../labels/translate.ts";
import { DataRegion, EmptyState } from "../../ui/data-region.tsx";
import type { Selection } from "./model.ts";
import { QueueDetail } from "./queue-detail.tsx";
import { TopicDetail } from "./topic-detail.tsx";
import type { useOverview } from "./use-queues.ts";

/** Details of the queue or topic that is named in the address. */
export function SelectionDetail({
  id,
  selection,
  overview,
  onOpen,
}: {
  readonly id: string;
  readonly selection: Selection;
  readonly overview: ReturnType<typeof useOverview>;
  readonly onOpen: (queue: string) => void;
}) {
  if (selection?.kind === "queue") return <QueueDetail stats={selection.stats} />;
  if (selection?.kind === "topic")
    return <TopicDetail topic={selection.name} queues={overview.data?.queues ?? []} onOpen={onOpen} />;
  return (
    <DataRegion
      loading={overview.data === undefined}
      error={overview.error}
      retry={() => void overview.refetch()}
      empty
      emptyState={
        <EmptyState title={t`Queue or topic not found`}>
          {rich`No queue or topic has the name ${<code className="break-all">{id}</code>}. A queue that is not in the config is listed only while it has jobs.`}
        </EmptyState>
      }
    >
      {null}
    </DataRegion>
  );
}
