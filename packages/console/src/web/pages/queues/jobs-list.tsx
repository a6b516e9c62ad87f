import type { ListedJobState } from "@svc-runtime/protocol/listings";
import { lazy, Suspense, useMemo, useState } from "react";
import { t } from "../../labels/translate.ts";
import { Button } from "../../ui/button.tsx";
import { DataRegion, EmptyState } from "../../ui/data-region.tsx";
import { DataTable } from "../../ui/data-table.tsx";
import { DeadActions } from "./dead-actions.tsx";
import { jobColumns } from "./job-columns.tsx";
import type { Job } from "./model.ts";
import { useJobs } from "./use-queues.ts";

const RedriveDialog = lazy(() => import("./redrive-dialog.tsx"));

const EMPTY_TEXTS: Readonly<Record<ListedJobState, { readonly title: string; readonly text: string }>> = {
  waiting: {
    title: t`No waiting jobs`,
    text: t`Jobs wait while the queue is at its concurrency limit or paused, or while no worker provides their function.`,
  },
  active: { title: t`No jobs in flight`, text: t`A job is in flight while a worker runs it.` },
  delayed: {
    title: t`No delayed jobs`,
    text: t`A job is delayed until its start time, or during the backoff before its next attempt.`,
  },
  dead: {
    title: t`No dead letters`,
    text: t`A job becomes a dead letter when its last attempt fails. You can redrive it from here.`,
  },
  done: {
    title: t`No completed jobs`,
    text: t`Completed jobs are stored for a limited time, as set by keep_completed in the config.`,
  },
};

/** Jobs of a queue in one state. Listing jobs does not lease them. */
export function JobsList({
  queue,
  state,
  total,
  last,
  onOpen,
}: {
  readonly queue: string;
  readonly state: ListedJobState;
  /** Number of the queue's jobs in this state. */
  readonly total: number;
  /** Id of the job that was opened last. The arrow keys start from it. */
  readonly last: string | undefined;
  readonly onOpen: (jobId: string) => void;
}) {
  const query = useJobs(queue, state);
  const jobs = useMemo(() => query.data?.pages.flatMap((page) => page.jobs) ?? [], [query.data]);
  // Ids of the selected jobs. `all` includes jobs that are not loaded here.
  const [selectedIds, setSelectedIds] = useState<ReadonlySet<string> | "all">(new Set());
  const [edited, setEdited] = useState<Job>();
  const selected = useMemo(
    () => (selectedIds === "all" ? "all" : jobs.map(({ job_id }) => job_id).filter((id) => selectedIds.has(id))),
    [jobs, selectedIds],
  );
  const columns = useMemo(
    () =>
      jobColumns(state, {
        edit: setEdited,
        isSelected: (id) => selectedIds === "all" || selectedIds.has(id),
        toggle: (id) =>
          setSelectedIds((all) => {
            const before = all === "all" ? new Set(jobs.map(({ job_id }) => job_id)) : all;
            return before.has(id) ? new Set([...before].filter((other) => other !== id)) : new Set([...before, id]);
          }),
      }),
    [state, selectedIds, jobs],
  );
  return (
    <div className="flex h-full min-h-40 flex-col">
      <DataRegion
        loading={query.data === undefined}
        error={query.error}
        retry={() => void query.refetch()}
        empty={query.data !== undefined && jobs.length === 0}
        emptyState={<EmptyState title={EMPTY_TEXTS[state].title}>{EMPTY_TEXTS[state].text}</EmptyState>}
      >
        {state === "dead" && (
          <DeadActions
            queue={queue}
            selected={selected}
            total={Math.max(total, jobs.length)}
            onSelectAll={(isOn) => setSelectedIds(isOn ? "all" : new Set())}
          />
        )}
        <DataTable
          label={t`Jobs`}
          // Each state has its own columns, so the user's choice of columns is stored for each state.
          id={`jobs-${state}`}
          columns={columns}
          rows={jobs}
          idOf={({ job_id }) => job_id}
          selectedId={last}
          onSelect={({ job_id }) => onOpen(job_id)}
        />
        {edited !== undefined && (
          <Suspense>
            <RedriveDialog job={edited} onClose={() => setEdited(undefined)} onDone={() => void query.refetch()} />
          </Suspense>
        )}
        {query.hasNextPage && (
          <div className="border-line border-t p-1.5 text-center">
            <Button look="ghost" isPending={query.isFetchingNextPage} onClick={() => void query.fetchNextPage()}>
              {t`Show more (${jobs.length} shown)`}
            </Button>
          </div>
        )}
      </DataRegion>
    </div>
  );
}
