import type { ListedJobState, QueueStats } from "@svc-runtime/protocol/listings";
import { getRouteApi } from "@tanstack/react-router";
import { lazy, Suspense, useState } from "react";
import { t } from "../../labels/translate.ts";
import { SkeletonRows } from "../../ui/data-region.tsx";
import { type TabSpec, Tabs } from "../../ui/tabs.tsx";
import { EnqueueForm } from "./enqueue-form.tsx";
import { JobsList } from "./jobs-list.tsx";
import { QueueHead } from "./queue-head.tsx";

const JobDetail = lazy(() => import("./job-detail.tsx"));

const QueueHistory = lazy(() => import("./queue-history.tsx"));

const route = getRouteApi("/queues/{-$topic}");

/** Details of a queue: counters, jobs by state, and a form that enqueues a job. */
export function QueueDetail({ stats }: { readonly stats: QueueStats }) {
  const { tab, job } = route.useSearch();
  const navigate = route.useNavigate();
  const [last, setLast] = useState(job);
  if (job !== undefined && job !== last) setLast(job);
  const openJob = (next: string | undefined): void => void navigate({ search: (before) => ({ ...before, job: next }) });
  const totals = { ...stats, done: stats.kept ?? 0 };
  const jobs = (state: ListedJobState) => (
    <JobsList key={state} last={last} queue={stats.queue} state={state} total={totals[state]} onOpen={openJob} />
  );
  const tabs: TabSpec[] = [
    { value: "waiting", label: t`Waiting`, count: stats.waiting, content: jobs("waiting") },
    { value: "active", label: t`In flight`, count: stats.active, content: jobs("active") },
    { value: "delayed", label: t`Delayed`, count: stats.delayed, content: jobs("delayed") },
    { value: "dead", label: t`Dead letters`, count: stats.dead, content: jobs("dead") },
    { value: "done", label: t`Done`, count: stats.kept ?? 0, content: jobs("done") },
  ];
  // Jobs of a subscription come from its topic, so there is no form that enqueues a job.
  if (stats.topic === null)
    tabs.push({ value: "enqueue", label: t`Enqueue`, content: <EnqueueForm queue={stats.queue} onOpen={openJob} /> });
  tabs.push({
    value: "history",
    label: t`History`,
    content: (
      <Suspense fallback={<SkeletonRows rows={6} />}>
        <QueueHistory queue={stats.queue} />
      </Suspense>
    ),
  });
  // Chosen once, so that the tab does not change when the counts change.
  const [first] = useState(stats.dead > 0 && stats.waiting === 0 ? "dead" : "waiting");
  const shown = tabs.some(({ value }) => value === tab) ? tab : undefined;
  return (
    <div className="flex h-full min-h-0 flex-col">
      <QueueHead stats={stats} />
      {job === undefined ? (
        <Tabs
          label={t`Queue`}
          tabs={tabs}
          value={shown ?? first}
          onChange={(next) => void navigate({ search: (before) => ({ ...before, tab: next }), replace: true })}
        />
      ) : (
        <Suspense fallback={<SkeletonRows rows={6} />}>
          <JobDetail key={job} jobId={job} onClose={() => openJob(undefined)} />
        </Suspense>
      )}
    </div>
  );
}
