import { useMemo, useState } from "react";
import { Button } from "../../ui/button.tsx";
import { DataRegion, EmptyState } from "../../ui/data-region.tsx";
import { DataTable } from "../../ui/data-table.tsx";
import { DeadActions } from "./dead-actions.tsx";
import { jobColumns } from "./job-columns.tsx";
import type { JobState } from "./model.ts";
import { useJobs } from "./use-queues.ts";

const NOTHING: Readonly<Record<JobState, { readonly title: string; readonly text: string }>> = {
  waiting: { title: "No job waits", text: "Jobs wait here until the queue has room to run them, and while it is paused or nobody serves their function." },
  active: { title: "No job runs", text: "Jobs are here while a worker has them." },
  delayed: { title: "No job is delayed", text: "Jobs are here until their time comes: a delay, or the wait before another attempt." },
  dead: { title: "No dead letters", text: "A job whose last attempt failed comes here, with why, and can be put back." },
};

/** A queue's jobs in one state; nothing is taken out by looking. */
export function JobsList({
  queue,
  state,
  last,
  onOpen,
}: {
  readonly queue: string;
  readonly state: JobState;
  /** The job that was open last: the arrows go on from there. */
  readonly last: string | undefined;
  readonly onOpen: (jobId: string) => void;
}) {
  const query = useJobs(queue, state);
  const jobs = useMemo(() => query.data?.pages.flatMap((page) => page.jobs) ?? [], [query.data]);
  const [ticked, setTicked] = useState<ReadonlySet<string>>(new Set());
  const chosen = useMemo(() => jobs.map(({ job_id }) => job_id).filter((id) => ticked.has(id)), [jobs, ticked]);
  const columns = useMemo(
    () =>
      jobColumns(state, {
        isTicked: (id) => ticked.has(id),
        tick: (id) => setTicked((before) => (before.has(id) ? new Set([...before].filter((other) => other !== id)) : new Set([...before, id]))),
      }),
    [state, ticked],
  );
  return (
    <div className="flex h-full min-h-40 flex-col">
      <DataRegion
        loading={query.data === undefined}
        error={query.error}
        retry={() => void query.refetch()}
        empty={query.data !== undefined && jobs.length === 0}
        emptyState={<EmptyState title={NOTHING[state].title}>{NOTHING[state].text}</EmptyState>}
      >
        {state === "dead" && (
          <DeadActions
            queue={queue}
            chosen={chosen}
            loaded={jobs.length}
            onChooseAll={() => setTicked(chosen.length === jobs.length ? new Set() : new Set(jobs.map(({ job_id }) => job_id)))}
          />
        )}
        <DataTable
          label={NOTHING[state].title.replace(/^No /, "")}
          columns={columns}
          rows={jobs}
          idOf={({ job_id }) => job_id}
          selectedId={last}
          onSelect={({ job_id }) => onOpen(job_id)}
        />
        {query.hasNextPage && (
          <div className="border-line border-t p-1.5 text-center">
            <Button look="ghost" isPending={query.isFetchingNextPage} onClick={() => void query.fetchNextPage()}>
              Show more ({jobs.length.toLocaleString("en-GB")} shown)
            </Button>
          </div>
        )}
      </DataRegion>
    </div>
  );
}
