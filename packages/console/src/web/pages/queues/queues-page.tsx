import { getRouteApi } from "@tanstack/react-router";
import { useMemo } from "react";
import { t } from "../../labels/translate.ts";
import { useHotkey } from "../../lib/hotkeys.ts";
import { fromSegment, toSegment } from "../../lib/path-segment.ts";
import { ListDetail } from "../../ui/list-detail.tsx";
import { isModuleMissing, ModuleMissing } from "../../ui/module-missing.tsx";
import { Page } from "../../ui/page.tsx";
import { SearchBox } from "../../ui/search-box.tsx";
import { rowsOf, selectionOf, titleOf } from "./model.ts";
import { QueueList } from "./queue-list.tsx";
import { SelectionDetail } from "./selection-detail.tsx";
import { useOverview } from "./use-queues.ts";

const route = getRouteApi("/queues/{-$topic}");

export default function QueuesPage() {
  const params = route.useParams();
  const id = params.topic === undefined ? undefined : fromSegment(params.topic);
  const { q = "", job } = route.useSearch();
  const navigate = route.useNavigate();
  const overview = useOverview();
  const rows = useMemo(() => rowsOf(overview.data?.queues ?? [], overview.data?.topics ?? [], q), [overview.data, q]);
  const selection =
    id === undefined ? undefined : selectionOf(id, overview.data?.queues ?? [], overview.data?.topics ?? []);
  const open = (next: string | undefined): void =>
    void navigate({
      to: "/queues/{-$topic}",
      params: { topic: next === undefined ? undefined : toSegment(next) },
      search: (before) => ({ ...before, tab: undefined, job: undefined }),
    });
  const setQ = (next: string): void =>
    void navigate({ search: (before) => ({ ...before, q: next || undefined }), replace: true });
  useHotkey("Escape", t`Close the job, then the queue`, () => {
    if (job !== undefined) void navigate({ search: (before) => ({ ...before, job: undefined }) });
    else if (id !== undefined) open(undefined);
  });

  if (isModuleMissing(overview.error)) {
    return (
      <Page title={t`Queues`}>
        <ModuleMissing module="svc-queue" what={t`The queue`} />
      </Page>
    );
  }
  const title = titleOf(selection) ?? id ?? "";
  return (
    <Page
      title={t`Queues`}
      subject={id === undefined ? undefined : title}
      count={overview.data === undefined ? undefined : rows.filter(({ kind }) => kind !== "subscription").length}
      controls={<SearchBox label={t`Search queues and topics`} value={q} onChange={setQ} className="ml-auto" />}
    >
      <ListDetail
        id="queues"
        list={
          <QueueList
            overview={overview}
            rows={rows}
            q={q}
            onClear={() => setQ("")}
            selectedId={selection?.kind === "topic" ? selection.id : id}
            isCompact={id !== undefined}
            onOpen={open}
          />
        }
        title={title}
        onClose={() => open(undefined)}
        detail={
          id === undefined ? undefined : (
            <SelectionDetail key={id} id={id} selection={selection} overview={overview} onOpen={open} />
          )
        }
      />
    </Page>
  );
}
