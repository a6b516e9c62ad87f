import type { ListedJobState } from "@svc-runtime/protocol/listings";
import { Link } from "@tanstack/react-router";
import { Pencil } from "lucide-react";
import { t } from "../../labels/translate.ts";
import { maskedPreview } from "../../lib/secrets.ts";
import { Button } from "../../ui/button.tsx";
import type { Column } from "../../ui/data-table.tsx";
import { Ago, Duration } from "../../ui/time.tsx";
import type { Job } from "./model.ts";
import { Progress } from "./progress.tsx";

const PREVIEW = 120;

const at = (iso: string | null | undefined) => (iso == null ? "–" : <Ago ms={Date.parse(iso)} />);

/** Returns the columns for jobs in a state. Dead letters also have checkboxes and their last error. */
export function jobColumns(
  state: ListedJobState,
  selection: {
    readonly isSelected: (id: string) => boolean;
    readonly toggle: (id: string) => void;
    /** Opens the dialog that redrives a dead letter with edited data. */
    readonly edit: (job: Job) => void;
  },
): readonly Column<Job>[] {
  const checkbox: Column<Job> = {
    key: "selected",
    header: t`Selected`,
    headerHidden: true,
    width: "1.5rem",
    cell: ({ job_id: id }) => (
      <input
        type="checkbox"
        aria-label={t`Select ${id}`}
        checked={selection.isSelected(id)}
        onClick={(event) => event.stopPropagation()}
        onChange={() => selection.toggle(id)}
        className="block size-4"
      />
    ),
  };
  const id: Column<Job> = {
    key: "job",
    header: t`Job`,
    width: "5.5rem",
    cell: ({ job_id }) => (
      <Link
        to="."
        search={(before) => ({ ...before, job: job_id })}
        title={job_id}
        onClick={(event) => event.stopPropagation()}
        className="font-mono text-[12px] text-accent hover:underline"
      >
        {job_id.slice(0, 8)}
      </Link>
    ),
  };
  const data: Column<Job> = {
    key: "data",
    header: t`Data`,
    width: "minmax(6rem,2fr)",
    from: state === "dead" ? 480 : 0,
    cell: ({ json }) => <code className="text-ink-2">{maskedPreview(json, PREVIEW)}</code>,
  };
  // Beside the list of queues, a common screen has about 540 px for this table, so columns must be narrow.
  const target: Column<Job> = {
    key: "function",
    header: t`Function`,
    width: "minmax(5rem,1fr)",
    from: 420,
    cell: ({ function_id, reason }) => (
      <span className={reason == null ? undefined : "text-warn"} title={reason ?? undefined}>
        {function_id ?? "–"}
      </span>
    ),
  };
  if (state === "dead") {
    const error: Column<Job> = {
      key: "error",
      header: t`Error`,
      width: "minmax(7rem,2fr)",
      cell: ({ failures }) => {
        const last = failures.at(-1);
        return (
          <span className="text-danger" title={last?.message}>
            {last === undefined ? "–" : last.message || last.code}
          </span>
        );
      },
    };
    return [
      checkbox,
      id,
      error,
      data,
      { key: "failed", header: t`Failed`, width: "5rem", cell: ({ failed_at }) => at(failed_at) },
      {
        key: "edit",
        header: t`Edit and redrive`,
        headerHidden: true,
        width: "1.75rem",
        // On narrow screens, this button is only in the job's details.
        from: 420,
        cell: (job) => (
          <Button
            look="ghost"
            className="h-6 w-6"
            aria-label={t`Edit and redrive ${job.job_id.slice(0, 8)}`}
            title={t`Edit and redrive`}
            onClick={(event) => {
              event.stopPropagation();
              selection.edit(job);
            }}
            icon={<Pencil aria-hidden className="size-3.5" />}
          />
        ),
      },
    ];
  }
  if (state === "done") {
    const result: Column<Job> = {
      ...data,
      key: "result",
      header: t`Result`,
      cell: (job) => <ResultPreview job={job} />,
    };
    const took: Column<Job> = {
      key: "duration",
      header: t`Duration`,
      width: "5rem",
      align: "right",
      from: 480,
      cell: ({ duration_ms }) => (duration_ms === undefined ? "–" : <Duration ms={duration_ms} />),
    };
    const ended: Column<Job> = { key: "ended", header: t`Ended`, width: "5rem", cell: ({ ended_at }) => at(ended_at) };
    return [id, target, result, took, ended];
  }
  const time: Column<Job> =
    state === "delayed"
      ? { key: "run_at", header: t`Runs`, width: "5rem", cell: ({ run_at }) => at(run_at) }
      : { key: "created", header: t`Added`, width: "5rem", cell: ({ created_at }) => at(created_at) };
  const attempts: Column<Job> = {
    key: "attempts",
    header: t`Attempts`,
    width: "4.5rem",
    align: "right",
    from: 900,
    cell: ({ attempts: failed, max_attempts }) => t`${failed} of ${max_attempts}`,
  };
  const progress: Column<Job> = {
    key: "progress",
    header: t`Progress`,
    width: "minmax(9rem,2fr)",
    cell: ({ progress }) => (progress == null ? "–" : <Progress progress={progress} />),
  };
  return state === "active"
    ? [id, target, progress, { ...data, from: 640 }, attempts, time]
    : [id, target, data, attempts, time];
}

function ResultPreview({ job: { json, result_kept } }: { readonly job: Job }) {
  if (result_kept === false) return <span className="text-ink-3">{t`not stored`}</span>;
  return <code className="text-ink-2">{maskedPreview(json, PREVIEW)}</code>;
}
