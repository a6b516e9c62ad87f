import { DataRegion, EmptyState } from "../../ui/data-region.tsx";
import type { Chosen } from "./model.ts";
import { QueueDetail } from "./queue-detail.tsx";
import { TopicDetail } from "./topic-detail.tsx";
import type { useOverview } from "./use-queues.ts";

/** What the address names: a queue, a topic, or nothing that there is. */
export function ChosenDetail({
  id,
  chosen,
  overview,
  onOpen,
}: {
  readonly id: string;
  readonly chosen: Chosen;
  readonly overview: ReturnType<typeof useOverview>;
  readonly onOpen: (queue: string) => void;
}) {
  if (chosen?.kind === "queue") return <QueueDetail stats={chosen.stats} />;
  if (chosen?.kind === "topic") return <TopicDetail topic={chosen.name} queues={overview.data?.queues ?? []} onOpen={onOpen} />;
  return (
    <DataRegion
      loading={overview.data === undefined}
      error={overview.error}
      retry={() => void overview.refetch()}
      empty
      emptyState={
        <EmptyState title="There is no such queue or topic">
          Nothing is called <code className="break-all">{id}</code>. A queue that is not in the config is listed as long as it holds something.
        </EmptyState>
      }
    >
      {null}
    </DataRegion>
  );
}
