import { problemText, readStateQuery } from "@svc-runtime/protocol/query";
import { useInfiniteQuery } from "@tanstack/react-query";
import { t } from "../../labels/translate.ts";
import { type FoundItem, queryState } from "../../model/state-query.ts";
import { Button } from "../../ui/button.tsx";
import { DataRegion, EmptyState } from "../../ui/data-region.tsx";
import { type Column, DataTable } from "../../ui/data-table.tsx";
import { Ago } from "../../ui/time.tsx";

const PAGE = 100;

const COLUMNS: readonly Column<FoundItem>[] = [
  { key: "scope", header: t`Group`, width: "minmax(5rem,1fr)", cell: ({ scope }) => scope },
  {
    key: "key",
    header: t`Key`,
    width: "minmax(6rem,1.4fr)",
    cell: ({ key }) => (
      <span className="whitespace-pre font-medium" title={key}>
        {key}
      </span>
    ),
  },
  {
    key: "preview",
    header: t`Value`,
    width: "minmax(6rem,2fr)",
    from: 420,
    cell: ({ preview }) => <code className="text-ink-2">{preview}</code>,
  },
  {
    key: "updated",
    header: t`Updated`,
    width: "5.5rem",
    from: 640,
    cell: ({ updatedAtMs }) => <Ago ms={updatedAtMs} />,
  },
];

/** The items of all groups that match a query. */
export default function QueryResults({
  query,
  withSystem,
  selected,
  onOpen,
  onClear,
}: {
  readonly query: string;
  readonly withSystem: boolean;
  readonly selected: string | undefined;
  readonly onOpen: (item: FoundItem) => void;
  readonly onClear: () => void;
}) {
  const [problem] = readStateQuery(query).problems;
  const found = useInfiniteQuery({
    queryKey: ["state-items", "query", query, withSystem],
    queryFn: ({ pageParam, signal }) => queryState(query, { limit: PAGE, withSystem, cursor: pageParam, signal }),
    initialPageParam: null as string | null,
    getNextPageParam: ({ cursor }) => cursor,
    enabled: problem === undefined,
    gcTime: 0,
  });
  if (problem !== undefined) {
    return (
      <p role="status" className="border-line border-b bg-warn-soft px-4 py-1 text-warn">
        {problemText(problem)}.
      </p>
    );
  }
  const pages = found.data?.pages ?? [];
  const rows = pages.flatMap(({ items }) => items);
  const scanned = pages.reduce((sum, page) => sum + page.scanned, 0);
  return (
    <DataRegion
      loading={found.data === undefined}
      error={found.error}
      retry={() => void found.refetch()}
      empty={rows.length === 0 && !found.hasNextPage && found.data !== undefined}
      filtered={{ what: t`No item matches ${query}.`, clear: onClear }}
      emptyState={<EmptyState title={t`No items`}>{t`No item matches.`}</EmptyState>}
    >
      <DataTable
        label={t`Matching items`}
        columns={COLUMNS}
        rows={rows}
        idOf={idOf}
        selectedId={selected}
        onSelect={onOpen}
      />
      <div className="flex flex-wrap items-center gap-2 border-line border-t px-4 py-1 text-[12px] text-ink-3">
        <p role="status">{t`${rows.length} of ${scanned} searched items match`}</p>
        {found.hasNextPage && (
          <Button disabled={found.isFetchingNextPage} onClick={() => void found.fetchNextPage()}>
            {t`Continue search`}
          </Button>
        )}
      </div>
    </DataRegion>
  );
}

function idOf({ scope, key }: { readonly scope: string; readonly key: string }): string {
  return JSON.stringify([scope, key]);
}
